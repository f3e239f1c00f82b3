//! A digest of everything that a scenario and a seed determine. Golden tests compare it. It must be
//! equal on all machines and for any number of workers.

use sha2::{Digest, Sha256};

use crate::tables::Table;
use crate::tables::column::{Column, Values};
use crate::totals::Recording;

impl Recording {
    /// SHA-256 over totals and series, in hexadecimal, without the wall time and the version.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.reproducible_json());
        let own = (0..self.tables.len()).map(Table::Extra);
        for table in [Table::FlowSeries, Table::LinkSeries].into_iter().chain(own) {
            for column in table.columns(self) {
                add(&mut hash, &column);
            }
        }
        hexadecimal(hash)
    }
}

/// The bytes of a digest as text.
pub(crate) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Name and length come first, so that no value can pass from one column to the next unseen.
fn add(hash: &mut Sha256, column: &Column<'_>) {
    hash.update(column.name);
    hash.update((column.values.len() as u64).to_le_bytes());
    match &column.values {
        Values::U32(values) => values.iter().for_each(|v| hash.update(v.to_le_bytes())),
        Values::U64(values) | Values::U64OrUnset(values) => {
            values.iter().for_each(|v| hash.update(v.to_le_bytes()));
        }
        // The sign of a NaN that arithmetic made depends on the processor, and what is not finite
        // is saved as null.
        Values::F64(values) => values.iter().for_each(|v| {
            let value = if v.is_finite() { *v } else { f64::NAN };
            hash.update(value.to_bits().to_le_bytes());
        }),
        Values::Bool(values) => values.iter().for_each(|v| hash.update([u8::from(*v)])),
        Values::Text(values) => values.iter().for_each(|v| add_text(hash, Some(v))),
        Values::TextOrNone(values) => values.iter().for_each(|v| add_text(hash, *v)),
    }
}

/// A text with its length; the length of none is one that no text has.
fn add_text(hash: &mut Sha256, text: Option<&str>) {
    hash.update(text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
    hash.update(text.unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use crate::series::FlowSample;
    use crate::tables::tests::{handovers, sample};

    #[test]
    fn wall_time_and_version_do_not_change_the_digest() {
        let mut other = sample();
        other.wall_s = 99.0;
        other.version = "9.9.9".into();
        assert_eq!(other.digest(), sample().digest());
        assert_eq!(sample().digest().len(), 64);
    }

    #[test]
    fn every_part_of_the_rest_changes_the_digest() {
        let changes: [fn(&mut crate::Recording); 8] = [
            |r| r.seed += 1,
            |r| r.partial = true,
            |r| r.flows[1].pages[1].objects[0].bytes += 1,
            |r| r.links[0].dropped_packets += 1,
            |r| r.flow_series.srtt_ms[1] += 1e-9,
            |r| r.link_series.queue_packets[0] += 1,
            |r| r.tables = vec![handovers("s-7", 1500)],
            |r| r.tables.clear(),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut other = sample();
            change(&mut other);
            assert_ne!(other.digest(), sample().digest(), "change {number}");
        }
    }

    #[test]
    fn a_nan_is_a_nan_whatever_its_sign() {
        let mut other = sample();
        other.flow_series.srtt_ms[0] = -f64::NAN;
        assert_eq!(other.digest(), sample().digest());
    }

    #[test]
    fn a_row_more_changes_the_digest_even_when_it_is_all_zeros() {
        let mut other = sample();
        other.flow_series.push(FlowSample::default());
        assert_ne!(other.digest(), sample().digest());
    }
}
