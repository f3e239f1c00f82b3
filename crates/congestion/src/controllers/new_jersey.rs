//! TCP New Jersey: Jersey whose rate is timed by the receiver's clock, which it reads in
//! their timestamps. ACKs that are lost or come in bunches then disturb nothing.
//!
//! Source: K. Xu, Y. Tian, N. Ansari, "Improving TCP performance in integrated wireless
//! communications networks", Computer Networks 47, 2005. The rules, and what is reconstructed of
//! them, are in `jersey`.

use crate::controllers::jersey::{PARAMETERS, WarnedWindow};
use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::parameters::Values;
use crate::parts::bandwidth::AtReceiver;
use crate::window::Settings;

/// TCP New Jersey.
pub type NewJersey = WarnedWindow<AtReceiver>;

impl Listed for NewJersey {
    const LISTED: &'static [Entry] = &[Entry {
        name: "new-jersey",
        summary: "Jersey whose rate is timed by the receiver's clock",
        source: "Xu, Tian and Ansari, TCP New Jersey, 2005",
        status: Status::Reconstructed,
        repair: Repair::PartialAcks,
        parameters: PARAMETERS,
    }];
    const NEED: Option<Need> = Some(Need::Routers("routers with ECN marking"));

    fn build(settings: &Settings, values: &Values) -> Self {
        Self::new(settings, values)
    }
}
