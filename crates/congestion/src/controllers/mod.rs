//! The algorithms. One file each, and one line here, which declares the module, imports its types
//! and enters them in the registry.
//!
//! The order is that of all lists. `cargo fmt` does not see modules that a macro declares. Format
//! them with `rustfmt crates/congestion/src/controllers/*.rs`; a test of the registry checks it.

use crate::any::controllers;

controllers! {
    inline reno::Reno;
    adalr::Adalr;
    aliad::Aliad;
    bbr::Bbr;
    bbr3::Bbr3;
    bic::Bic;
    bulk_repeat::BulkRepeat;
    cherry::Cherry;
    ck_stp::CkStp;
    cubic::Cubic;
    highspeed::HighSpeed;
    htcp::Htcp;
    hybla::Hybla;
    jersey::Jersey;
    logwestwood_plus::LogWestwoodPlus;
    new_jersey::NewJersey;
    newreno_sat::NewRenoSat;
    new_vegas::NewVegas;
    peach::Peach;
    peach_plus::PeachPlus;
    scalable::Scalable;
    star::Star;
    vegas::Vegas;
    veno::Veno;
    westwood::Westwood;
    westwood_abse::WestwoodAbse;
    westwood_plus::WestwoodPlus;
}
