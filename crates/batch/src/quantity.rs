//! A quantity of a recording: one number from one of its tables. A study keeps a row of numbers for
//! each run, instead of the run. A name selects the rows of a table, and an [`Aggregate`] combines
//! several values. [`Source`] is the table: one of every recording, or one of a mechanism on the
//! path.

use std::fmt;
use std::str::FromStr;

use recording::{Column, Recording, Table, TableDefinition, Values, jain_index};

/// Column that names a counter, in tables with one row for each of them.
pub(crate) const COUNTER: &str = "counter";
/// Column with its value.
const COUNTED: &str = "packets";

/// Combination of several values into one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregate {
    /// Arithmetic mean.
    Mean,
    /// Sum.
    Sum,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Jain's fairness index.
    Jain,
    /// Percentile from 0 to 100, on a straight line between the two nearest values.
    Percentile(f64),
}

/// A word that stands for no aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAggregate(String);

impl std::error::Error for UnknownAggregate {}

impl fmt::Display for UnknownAggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected mean, sum, min, max, median, jain or p0 to p100, found {:?}", self.0)
    }
}

impl FromStr for Aggregate {
    type Err = UnknownAggregate;

    /// Reads `mean`, `sum`, `min`, `max`, `median`, `jain`, `p95`.
    fn from_str(text: &str) -> Result<Self, UnknownAggregate> {
        Ok(match text {
            "mean" => Self::Mean,
            "sum" => Self::Sum,
            "min" => Self::Min,
            "max" => Self::Max,
            "jain" => Self::Jain,
            "median" => Self::Percentile(50.0),
            _ => {
                let percent = text.strip_prefix('p').and_then(|number| number.parse().ok());
                let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
                Self::Percentile(percent.ok_or_else(|| UnknownAggregate(text.to_owned()))?)
            }
        })
    }
}

impl Aggregate {
    /// The number that `values` become; `None` for no values.
    pub fn of(self, mut values: Vec<f64>) -> Option<f64> {
        if values.is_empty() {
            return None;
        }
        let sum = values.iter().sum::<f64>();
        match self {
            Self::Mean => Some(sum / values.len() as f64),
            Self::Sum => Some(sum),
            Self::Min => values.into_iter().reduce(f64::min),
            Self::Max => values.into_iter().reduce(f64::max),
            Self::Jain => jain_index(values),
            Self::Percentile(percent) => {
                values.sort_by(f64::total_cmp);
                let place = percent / 100.0 * (values.len() - 1) as f64;
                let (below, above) = (place.floor(), place.ceil());
                let (low, high) = (values[below as usize], values[above as usize]);
                Some(low + (high - low) * (place - below))
            }
        }
    }
}

/// Table with the rows of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// Flows, links, pages or objects.
    Fixed(Table),
    /// Totals of a mechanism, in the recordings of scenarios that have it.
    Mechanism(&'static TableDefinition),
    /// Totals of a mechanism with one row for each of its counters. The name of the counter stands
    /// for the column.
    Counters(&'static TableDefinition),
}

impl Source {
    /// The table in a recording; `None` if the scenario has no such mechanism.
    fn table(self, recording: &Recording) -> Option<Table> {
        match self {
            Self::Fixed(table) => Some(table),
            Self::Mechanism(definition) | Self::Counters(definition) => {
                Table::find(definition.name, recording)
            }
        }
    }

    /// Returns true if its rows are directions of links.
    pub(crate) fn has_directions(self) -> bool {
        match self {
            Self::Fixed(table) => table == Table::Links,
            Self::Mechanism(definition) | Self::Counters(definition) => definition.has("direction"),
        }
    }
}

/// Place of a number in a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Jain's index over the goodput of all flows.
    JainIndex,
    /// Simulated time in seconds.
    SimulatedTime,
    /// Out of the rows of a table.
    Of {
        /// The table.
        table: Source,
        /// Name of the flow, link or node, in which `*` stands for anything; `None` takes all.
        name: Option<String>,
        /// Direction of the link; `None` takes all.
        direction: Option<String>,
        /// Name of the column.
        column: String,
        /// Aggregate of several rows.
        aggregate: Aggregate,
    },
}

impl Quantity {
    /// The number, `None` where it is undefined.
    ///
    /// A flow or link without a value (a download that was not finished) leaves all undefined: the
    /// mean of those that were faster would flatter. Pages and objects that never came are left
    /// out, as a run may end amid any of them. A counter of a mechanism that the scenario does not
    /// have is undefined, and not zero.
    pub fn of(&self, recording: &Recording) -> Option<f64> {
        let value = match self {
            Self::JainIndex => recording.jain_index,
            Self::SimulatedTime => Some(recording.simulated_s),
            Self::Of { table: source, name, direction, column, aggregate } => {
                let table = source.table(recording)?;
                let columns = table.columns(recording);
                let kept =
                    of_direction_and_counter(*source, &columns, direction.as_deref(), column);
                let kept = named(kept, recording, &columns, name.as_deref());
                let column = match source {
                    Source::Counters(_) => COUNTED,
                    _ => column.as_str(),
                };
                let column = columns.iter().find(|one| one.name == column)?;
                let values = kept.into_iter().map(|row| column.values.number(row));
                let partly = matches!(table, Table::Pages | Table::Objects);
                let values: Vec<f64> =
                    values.filter(|value| !partly || value.is_some()).collect::<Option<_>>()?;
                aggregate.of(values)
            }
        };
        value.filter(|value| value.is_finite())
    }

    /// Names of the rows of a mechanism's table from which it is taken, whatever its own name:
    /// those in the first column, each once.
    pub(crate) fn names_of_rows(&self, recording: &Recording) -> Vec<String> {
        let Self::Of { table: source, direction, column, .. } = self else { return Vec::new() };
        let Some(table) = source.table(recording) else { return Vec::new() };
        let columns = table.columns(recording);
        let Some(Values::Text(names)) = columns.first().map(|column| &column.values) else {
            return Vec::new();
        };
        let rows = of_direction_and_counter(*source, &columns, direction.as_deref(), column);
        let mut names: Vec<String> = rows.into_iter().map(|row| names[row].to_owned()).collect();
        names.dedup();
        names
    }
}

/// The rows of a direction; of a table with a row for each counter, those of the counter `column`.
fn of_direction_and_counter(
    source: Source,
    columns: &[Column<'_>],
    direction: Option<&str>,
    column: &str,
) -> Vec<usize> {
    let all = (0..columns.first().map_or(0, |column| column.values.len())).collect();
    let rows = having(all, columns, "direction", direction);
    match source {
        Source::Counters(_) => having(rows, columns, COUNTER, Some(column)),
        _ => rows,
    }
}

/// Of `rows`, those with this text in a column; all if there is no such column, or no text.
fn having(
    rows: Vec<usize>,
    columns: &[Column<'_>],
    column: &str,
    expected: Option<&str>,
) -> Vec<usize> {
    match (text(columns, column), expected) {
        (Some(found), Some(expected)) => {
            rows.into_iter().filter(|row| found[*row] == expected).collect()
        }
        _ => rows,
    }
}

/// Of `rows`, those of that name. Names are in the first column: of flows, links or nodes. Pages
/// and objects have the number of their flow.
fn named(
    rows: Vec<usize>,
    recording: &Recording,
    columns: &[Column<'_>],
    name: Option<&str>,
) -> Vec<usize> {
    let Some(name) = name else { return rows };
    let matches = |row: &usize| match columns.first().map(|column| &column.values) {
        Some(Values::Text(texts)) => is_called(texts[*row], name),
        Some(Values::U32(flows)) => is_called(&recording.flows[flows[*row] as usize].flow, name),
        _ => false,
    };
    rows.into_iter().filter(matches).collect()
}

fn text<'a>(columns: &'a [Column<'_>], name: &str) -> Option<&'a [&'a str]> {
    columns.iter().find(|column| column.name == name).and_then(|column| match &column.values {
        Values::Text(values) => Some(&values[..]),
        _ => None,
    })
}

/// Returns true if `name` is meant by `pattern`: `*` stands for anything, and the name of a flow
/// with a `count` for all its copies, which are called `name.0`, `name.1`.
pub fn is_called(name: &str, pattern: &str) -> bool {
    let copy = name.rsplit_once('.').filter(|(_, number)| number.parse::<u32>().is_ok());
    matches(name, pattern) || copy.is_some_and(|(entry, _)| matches(entry, pattern))
}

fn matches(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.any(|at| matches(&name[at..], rest))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::{FlowFigures, FlowRecord, LinkRecord, ObjectRecord, PageRecord};

    /// A recording with a flow that transferred a file, one that fetched pages, and a link.
    fn sample() -> Recording {
        let object = |bytes, response_s| ObjectRecord { bytes, start_s: 1.0, response_s };
        let page = |start_s, response_s, objects| PageRecord { start_s, response_s, objects };
        let figures = FlowFigures {
            completion_s: Some(2.5),
            pages: vec![
                page(1.0, Some(0.5), vec![object(1000, Some(0.25)), object(2000, Some(0.5))]),
                page(2.0, None, vec![object(3000, None)]),
            ],
            goodput_bps: 1e6,
            ..FlowFigures::default()
        };
        let web =
            FlowRecord { flow: "web".into(), figures: figures.into(), ..FlowRecord::default() };
        let bulk = FlowRecord { flow: "bulk".into(), ..FlowRecord::default() };
        let link = LinkRecord { link: "a-b".into(), delivered_packets: 7, ..LinkRecord::default() };
        Recording { flows: vec![bulk, web], links: vec![link], ..Recording::default() }
    }

    fn of(table: Table, name: Option<&str>, column: &str, aggregate: &str) -> Quantity {
        Quantity::Of {
            table: Source::Fixed(table),
            name: name.map(str::to_owned),
            direction: None,
            column: column.to_owned(),
            aggregate: aggregate.parse().unwrap(),
        }
    }

    #[test]
    fn a_percentile_lies_between_the_nearest_values() {
        let of = |name: &str| name.parse::<Aggregate>().unwrap().of(vec![4.0, 1.0, 2.0, 3.0]);
        assert_eq!(of("median"), Some(2.5));
        assert_eq!(of("p0"), Some(1.0));
        assert_eq!(of("p100"), Some(4.0));
        assert_eq!(of("p90"), Some(3.7));
        assert_eq!(of("mean"), Some(2.5));
        assert_eq!(of("sum"), Some(10.0));
        assert_eq!(Aggregate::Mean.of(vec![]), None);
        for wrong in ["p101", "p-1", "average", "pNaN"] {
            assert!(wrong.parse::<Aggregate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_flow_without_a_value_leaves_the_mean_of_all_undefined() {
        let recording = sample();
        assert_eq!(of(Table::Flows, Some("web"), "completion_s", "mean").of(&recording), Some(2.5));
        assert_eq!(of(Table::Flows, None, "completion_s", "mean").of(&recording), None);
        assert_eq!(of(Table::Flows, None, "goodput_bps", "mean").of(&recording), Some(5e5));
        assert_eq!(of(Table::Flows, Some("nobody"), "goodput_bps", "sum").of(&recording), None);
    }

    #[test]
    fn a_page_that_never_came_is_left_out() {
        let recording = sample();
        let response = of(Table::Pages, Some("w*"), "response_s", "max");
        assert_eq!(response.of(&recording), Some(0.5));
        assert_eq!(of(Table::Pages, Some("bulk"), "response_s", "max").of(&recording), None);
        assert_eq!(of(Table::Objects, None, "bytes", "sum").of(&recording), Some(6000.0));
    }

    #[test]
    fn a_link_has_directions() {
        let mut recording = sample();
        recording.links[0].direction = "forward".into();
        let mut backward = recording.links[0].clone();
        backward.direction = "backward".into();
        backward.delivered_packets = 5;
        recording.links.push(backward);
        let packets = |direction: Option<&str>| {
            let quantity = Quantity::Of {
                table: Source::Fixed(Table::Links),
                name: Some("a-b".into()),
                direction: direction.map(str::to_owned),
                column: "delivered_packets".into(),
                aggregate: Aggregate::Sum,
            };
            quantity.of(&recording)
        };
        assert_eq!(packets(Some("forward")), Some(7.0));
        assert_eq!(packets(Some("backward")), Some(5.0));
        assert_eq!(packets(None), Some(12.0));
    }

    #[test]
    fn the_name_of_a_flow_means_its_copies() {
        assert!(is_called("web", "web") && is_called("web.12", "web") && is_called("web.0", "w*b"));
        assert!(is_called("web.12", "web.12") && is_called("anything", "*"));
        assert!(!is_called("web.12", "web.1") && !is_called("web.x", "web"));
        assert!(!is_called("webs", "web") && is_called("a-b-c", "a*b*c"));
    }
}
