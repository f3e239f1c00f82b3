//! The algorithms. One file each, and one line here, which declares the module, imports its types
//! and enters them in the registry.
//!
//! After the bars stand its variants, each with its word for `variant`: that of Linux, that of
//! picoquic, that of genericCC, and that of PCC-Uspace.
//!
//! The order is that of all lists. `cargo fmt` does not see modules that a macro declares. Format
//! them with `rustfmt crates/congestion/src/controllers/*.rs`; a test of the registry checks it.

use crate::any::controllers;

controllers! {
    inline reno::Reno | LinuxReno;
    adalr::Adalr;
    aliad::Aliad;
    allegro::Allegro | UspaceAllegro;
    bbr::Bbr | PicoquicBbr;
    bbr3::Bbr3;
    bic::Bic | LinuxBic;
    bulk_repeat::BulkRepeat;
    cdg::Cdg;
    cherry::Cherry;
    ck_stp::CkStp;
    copa::Copa | GenericCopa;
    copa2::Copa2;
    cubic::Cubic | LinuxCubic | PicoquicCubic;
    dctcp::Dctcp | LinuxDctcp;
    ebn::Ebn;
    highspeed::HighSpeed | LinuxHighSpeed;
    htcp::Htcp | LinuxHtcp;
    hybla::Hybla | LinuxHybla;
    illinois::Illinois;
    jersey::Jersey;
    ledbat::Ledbat;
    ledbat_plus_plus::LedbatPlusPlus;
    leocc::LeoCc;
    logwestwood_plus::LogWestwoodPlus;
    lp::Lp | LinuxLp;
    new_jersey::NewJersey;
    newreno_sat::NewRenoSat;
    new_vegas::NewVegas;
    nv::Nv;
    p_xcp::PXcp;
    peach::Peach;
    peach_plus::PeachPlus;
    prague::Prague;
    satcp::SaTcp;
    scalable::Scalable | LinuxScalable;
    scps_vegas::ScpsVegas;
    star::Star;
    starquic::Starquic;
    vegas::Vegas | LinuxVegas;
    veno::Veno | LinuxVeno;
    vivace::Vivace | UspaceVivace;
    westwood::Westwood | LinuxWestwood;
    westwood_abse::WestwoodAbse;
    westwood_plus::WestwoodPlus;
    xcp::Xcp;
    yeah::Yeah;
}
