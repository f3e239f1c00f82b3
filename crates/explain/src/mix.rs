//! Mixes of a scenario, with the flows that they stand for.

use std::fmt::{self, Display, Formatter};

use scenario::Written;
use scenario::mix;
use serde::Serialize;
use serde_json::Value as Json;

/// A `[[mix]]`.
#[derive(Clone, Debug, Serialize)]
pub struct MixExplanation {
    /// Its name.
    pub name: String,
    /// The mix by its name.
    pub preset: &'static str,
    /// Description of the mix in one sentence.
    pub summary: &'static str,
    /// Where its applications and numbers are from.
    pub source: &'static str,
    /// How certain they are.
    pub certainty: &'static str,
    /// Names of its flows, without the number of a copy.
    pub flows: Vec<String>,
}

/// The mixes of a scenario in their order.
pub(crate) fn explain(written: &Written) -> Vec<MixExplanation> {
    let list = |key: &str| written.document[key].as_array().map_or(&[][..], Vec::as_slice);
    let flows = &list("flow")[list("flow").len() - written.mixes.len()..];
    let text = |table: &Json, key: &str| table[key].as_str().map(str::to_owned);
    let explain = |(number, written_mix): (usize, &Json)| {
        let preset = mix::named(written_mix["preset"].as_str()?)?;
        let own = flows.iter().zip(&written.mixes).filter(|(_, of)| **of == number);
        Some(MixExplanation {
            name: text(written_mix, "name").unwrap_or_else(|| format!("mix-{number}")),
            preset: preset.name,
            summary: preset.summary,
            source: preset.source,
            certainty: preset.certainty.name(),
            flows: own.filter_map(|(flow, _)| text(flow, "name")).collect(),
        })
    };
    list("mix").iter().enumerate().filter_map(explain).collect()
}

impl Display for MixExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nMix {}: {}", self.name, self.preset)?;
        writeln!(f, "  {}", self.summary)?;
        writeln!(f, "  source ({}): {}", self.certainty, self.source)?;
        writeln!(f, "  flows: {}", self.flows.join(", "))
    }
}
