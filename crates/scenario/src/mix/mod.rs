//! Mixes: the applications of a household or an office as flows with sessions.
//!
//! A preset is one declaration: its name, its source, and its flows in the notation of scenarios,
//! without ends. `[[mix]]` of a scenario stands for these flows between two nodes, or at each
//! terminal of a group. They follow the `[[flow]]` tables of the scenario, and everything else
//! treats them like these.

mod spelling;
#[cfg(test)]
mod tests;

use crate::hosts::Certainty;

pub(crate) use spelling::{Spelt, spell_out};

/// A mix with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// Where its applications and numbers are from.
    pub source: &'static str,
    /// How certain they are.
    pub certainty: Certainty,
    /// Its flows as `[[flow]]` tables without `from` and `to`.
    pub flows: &'static str,
}

impl Mix {
    /// Names of its parts, which are its flows.
    pub fn parts(&self) -> Vec<String> {
        spelling::parts(self).iter().map(|part| spelling::name_of(part).to_owned()).collect()
    }
}

/// All mixes.
pub static MIXES: &[Mix] = &[
    Mix {
        name: "household",
        summary: "Pages, a video, calls, a game and downloads of a household in the evening.",
        source: "our choice; the pages and the ladder of the video are those of this laboratory",
        certainty: Certainty::Reconstructed,
        flows: include_str!("household.toml"),
    },
    Mix {
        name: "office",
        summary: "Pages, a web application, calls, downloads and backups of ten people at work.",
        source: "our choice; the pages are those of this laboratory",
        certainty: Certainty::Reconstructed,
        flows: include_str!("office.toml"),
    },
    Mix {
        name: "openbach",
        summary: "A transfer of 10 MB, a video, ten page loads and a call, within 60 s.",
        source: "OpenBACH-extra, scenario traffic_mix, commit 27d7614; page, ladder and G.711 in \
                 place of G.711.1 are our choice",
        certainty: Certainty::Source,
        flows: include_str!("openbach.toml"),
    },
    Mix {
        name: "eecc",
        summary: "The services of adequate broadband: mail, search, news, shops and calls.",
        source: "list of services: Directive (EU) 2018/1972, Annex V, without video calls; sizes \
                 and times are our choice",
        certainty: Certainty::Reconstructed,
        flows: include_str!("eecc.toml"),
    },
];

/// The mix with this name.
pub fn named(name: &str) -> Option<&'static Mix> {
    MIXES.iter().find(|mix| mix.name == name)
}
