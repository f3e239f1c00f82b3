//! The recording as one JSON object, for scripts. Keys are in the order of the fields, and the
//! digest is the last. Numbers that are not finite are null, because JSON has none.

use serde::{Deserialize, Deserializer, Serialize};

use crate::tables::extra::ExtraTable;
use crate::totals::flow::FlowRecord;
use crate::totals::link::LinkRecord;
use crate::totals::{Backend, Recording};

impl Recording {
    /// The totals on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&Sealed::of(self)).expect(CANNOT_FAIL)
    }

    /// The totals, indented for people and with a line break at the end.
    pub fn to_json_pretty(&self) -> String {
        let mut text = serde_json::to_string_pretty(&Sealed::of(self)).expect(CANNOT_FAIL);
        text.push('\n');
        text
    }

    /// The totals on one line without what differs between two runs of the same scenario and seed:
    /// the wall time, and the version, which is no property of the run.
    pub fn reproducible_json(&self) -> String {
        serde_json::to_string(&Reproducible::of(self)).expect(CANNOT_FAIL)
    }
}

/// A recording with its digest, by which a reader sees whether it has the same one.
#[derive(Serialize)]
struct Sealed<'a> {
    #[serde(flatten)]
    recording: &'a Recording,
    digest: String,
}

impl<'a> Sealed<'a> {
    fn of(recording: &'a Recording) -> Self {
        Self { recording, digest: recording.digest() }
    }
}

/// The digest in the JSON of a recording; `None` if it has none.
pub(crate) fn digest_in(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Seal {
        digest: String,
    }
    serde_json::from_str::<Seal>(json).ok().map(|seal| seal.digest)
}

/// A number that may have been written as null.
pub(crate) fn number<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(source)?.unwrap_or(f64::NAN))
}

const CANNOT_FAIL: &str = "a recording has only plain fields, and a string takes all of them";

/// The part that the scenario and the seed decide. Written out rather than filtered from the whole
/// object: the order of a filtered object depends on whether a crate of the build sets the
/// feature `preserve_order` of `serde_json`.
#[derive(Serialize)]
struct Reproducible<'a> {
    scenario: &'a str,
    /// `backend` under its first name, so that digests stay comparable.
    bed: Backend,
    backend: Backend,
    seed: u64,
    simulated_s: f64,
    events: u64,
    packet_hops: u64,
    partial: bool,
    flows: &'a [FlowRecord],
    links: &'a [LinkRecord],
    jain_index: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tables: &'a [ExtraTable],
}

impl<'a> Reproducible<'a> {
    fn of(recording: &'a Recording) -> Self {
        // Without `..`, so that a new field has to be considered here.
        let Recording {
            scenario,
            backend,
            seed,
            version: _,
            wall_s: _,
            simulated_s,
            events,
            packet_hops,
            partial,
            flows,
            links,
            jain_index,
            kernel: _, // such a run is never repeated
            tables,
            flow_series: _,
            link_series: _,
        } = recording;
        Self {
            scenario,
            bed: *backend,
            backend: *backend,
            seed: *seed,
            simulated_s: *simulated_s,
            events: *events,
            packet_hops: *packet_hops,
            partial: *partial,
            flows,
            links,
            jain_index: *jain_index,
            tables,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tables::tests::sample;
    use serde_json::Value;

    #[test]
    fn the_object_begins_with_the_keys_that_scripts_depend_on() {
        let start = concat!(
            r#"{"scenario":"geo-download","backend":"simulator","#,
            r#""seed":18446744073709551614,"#
        );
        assert!(sample().to_json().starts_with(start), "{}", sample().to_json());
    }

    #[test]
    fn a_number_that_is_not_finite_is_null() {
        let mut recording = sample();
        recording.flows[0].goodput_bps = f64::NAN;
        recording.flows[0].srtt_ms = Some(f64::INFINITY);
        let value: Value = serde_json::from_str(&recording.to_json()).unwrap();
        assert_eq!(value["flows"][0]["goodput_bps"], Value::Null);
        assert_eq!(value["flows"][0]["srtt_ms"], Value::Null);
    }

    #[test]
    fn one_line_and_many_lines_say_the_same() {
        let recording = sample();
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert!(!recording.to_json().contains('\n'));
        assert!(recording.to_json_pretty().ends_with("}\n"));
        assert_eq!(parse(&recording.to_json()), parse(&recording.to_json_pretty()));
    }

    #[test]
    fn the_reproducible_part_is_all_but_wall_time_version_and_digest() {
        let recording = sample();
        let mut whole: Value = serde_json::from_str(&recording.to_json()).unwrap();
        let object = whole.as_object_mut().unwrap();
        for key in ["wall_s", "version", "digest"] {
            assert!(object.remove(key).is_some(), "{key}");
        }
        object.insert("bed".to_owned(), object["backend"].clone());
        assert_eq!(serde_json::from_str::<Value>(&recording.reproducible_json()).unwrap(), whole);
    }
}
