//! The algorithms, one file each.

pub(crate) mod adalr;
pub(crate) mod aliad;
pub(crate) mod bbr;
pub(crate) mod bbr3;
pub(crate) mod bic;
pub(crate) mod bulk_repeat;
pub(crate) mod cherry;
pub(crate) mod ck_stp;
pub(crate) mod cubic;
pub(crate) mod highspeed;
pub(crate) mod htcp;
pub(crate) mod hybla;
pub(crate) mod jersey;
pub(crate) mod logwestwood_plus;
pub(crate) mod new_vegas;
pub(crate) mod newreno_sat;
pub(crate) mod peach;
pub(crate) mod peach_plus;
pub(crate) mod reno;
pub(crate) mod scalable;
pub(crate) mod star;
pub(crate) mod vegas;
pub(crate) mod veno;
pub(crate) mod westwood;
pub(crate) mod westwood_abse;
pub(crate) mod westwood_plus;
