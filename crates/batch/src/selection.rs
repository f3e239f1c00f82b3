//! All quantities, and the flows, links and routers of a scenario that provide them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use recording::{Recording, Role, Table};
use scenario::Scenario;
use scenario::model::Flow;
use thiserror::Error;
use units::Span;

use crate::quantity::{Aggregate, COUNTER, Quantity, Source, UnknownAggregate, is_called};

/// Tables of every recording with one row for each thing; the others are series.
const TOTALS: [Table; 4] = [Table::Flows, Table::Links, Table::Pages, Table::Objects];
/// Stands for a table where a recording has a number once.
const RUN: &str = "run";
const JAIN_INDEX: &str = "jain_index";
const SIMULATED_TIME: &str = "simulated_s";

/// A quantity that no recording has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnknownQuantity {
    /// No such table, or no such column of numbers in it.
    #[error("there is no {0}.{1}")]
    Column(String, String),
    /// No such aggregate.
    #[error(transparent)]
    Aggregate(#[from] UnknownAggregate),
}

/// The tables of which there are quantities, with their names.
fn sources() -> impl Iterator<Item = (&'static str, Source)> {
    let fixed =
        TOTALS.into_iter().filter_map(|table| Some((table.fixed_name()?, Source::Fixed(table))));
    let totals = simulator::tables().filter(|definition| !definition.is_series());
    fixed.chain(totals.map(|definition| {
        let source = match definition.has(COUNTER) {
            true => Source::Counters(definition),
            false => Source::Mechanism(definition),
        };
        (definition.name, source)
    }))
}

impl Source {
    /// The columns that a quantity can be, which do not depend on the recording, with what they
    /// are.
    fn columns(self) -> Vec<(&'static str, Role)> {
        static NOTHING: LazyLock<Recording> = LazyLock::new(Recording::default);
        match self {
            Self::Fixed(table) => table.numbers(&NOTHING),
            Self::Counters(_) => simulator::COUNTERS.map(|name| (name, Role::Count)).to_vec(),
            Self::Mechanism(definition) => {
                let columns = definition.columns.iter().map(|column| (column.name, column.role));
                columns.filter(|(_, role)| matches!(role, Role::Count | Role::Measure)).collect()
            }
        }
    }

    fn has(self, column: &str) -> bool {
        self.columns().iter().any(|(name, _)| *name == column)
    }
}

/// The columns that a quantity can be, by table; `run` has what is there once for each recording.
/// Tables of mechanisms with one row for each counter have the names of the counters.
pub fn number_columns() -> BTreeMap<&'static str, Vec<&'static str>> {
    let run = (RUN, vec![JAIN_INDEX, SIMULATED_TIME]);
    let names = |source: Source| source.columns().into_iter().map(|(name, _)| name).collect();
    sources().map(|(name, source)| (name, names(source))).chain([run]).collect()
}

/// Names of the tables of [`number_columns`] whose rows are directions of links.
pub fn tables_of_directions() -> Vec<&'static str> {
    let sources = sources().filter(|(_, source)| source.has_directions());
    sources.map(|(name, _)| name).collect()
}

/// Names of the tables of [`number_columns`] that applications have, such as `call`.
pub fn tables_of_applications() -> Vec<&'static str> {
    let totals = simulator::application_tables().filter(|definition| !definition.is_series());
    totals.map(|definition| definition.name).collect()
}

fn is_of_application(table: &str) -> bool {
    simulator::application_tables().any(|definition| definition.name == table)
}

/// A run of the scenario that ends at its start. It has the rows of all mechanisms, so that they
/// are filled in at one place only.
fn unstarted(scenario: &Scenario) -> Recording {
    let record = Default::default();
    let scenario = Scenario { record, duration: Span::ZERO, ..scenario.clone() };
    simulator::run(&scenario, scenario.seed, simulator::Options::default())
}

impl Quantity {
    /// The quantity of a table and a column by their names, as in [`number_columns`].
    ///
    /// # Errors
    /// There is no such column of numbers, or no such aggregate.
    pub fn named(
        table: &str,
        column: &str,
        name: Option<String>,
        direction: Option<String>,
        aggregate: &str,
    ) -> Result<Self, UnknownQuantity> {
        let aggregate: Aggregate = aggregate.parse()?;
        match (table, column) {
            (RUN, JAIN_INDEX) => return Ok(Self::JainIndex),
            (RUN, SIMULATED_TIME) => return Ok(Self::SimulatedTime),
            _ => {}
        }
        let found = sources().find(|(one, source)| *one == table && source.has(column));
        let (_, table) =
            found.ok_or_else(|| UnknownQuantity::Column(table.into(), column.into()))?;
        Ok(Self::Of { table, name, direction, column: column.to_owned(), aggregate })
    }

    /// Returns true if its column counts things or events, so that a sum of it is a total.
    pub fn is_counted(&self) -> bool {
        match self {
            Self::JainIndex | Self::SimulatedTime => false,
            Self::Of { table, column, .. } => {
                table.columns().contains(&(column.as_str(), Role::Count))
            }
        }
    }

    /// Returns true if `scenario` has flows, pages, links or mechanisms that this quantity is taken
    /// from.
    pub fn is_in(&self, scenario: &Scenario) -> bool {
        let Self::Of { name, .. } = self else { return true };
        let called = |one: &String| name.as_deref().is_none_or(|name| is_called(one, name));
        self.names_in(scenario).iter().any(called)
    }

    /// Names of flows, of flows with pages, of links and routers, or of those that have a
    /// mechanism, that it may have in `scenario`.
    pub fn names_in(&self, scenario: &Scenario) -> Vec<String> {
        let Self::Of { table, direction, .. } = self else { return Vec::new() };
        match table {
            // A run that ends at its start has no page, and no session.
            Source::Mechanism(definition) if is_of_application(definition.name) => {
                let has_it = |flow: &&Flow| simulator::has_application_table(flow, definition.name);
                scenario.flows.iter().filter(has_it).map(|flow| flow.name.clone()).collect()
            }
            Source::Mechanism(_) | Source::Counters(_) => self.names_of_rows(&unstarted(scenario)),
            Source::Fixed(Table::Links) => {
                let has_links = direction.as_deref() != Some("forwarding");
                let has_routers = direction.as_deref().is_none_or(|one| one == "forwarding");
                let links = scenario.links.iter().filter(|_| has_links).map(|link| &link.name);
                let routers = scenario.nodes.iter();
                let routers = routers.filter(|node| has_routers && node.forwarding.is_some());
                links.chain(routers.map(|node| &node.name)).cloned().collect()
            }
            Source::Fixed(table) => {
                let has_pages = matches!(table, Table::Pages | Table::Objects);
                let flows = scenario.flows.iter();
                let flows = flows.filter(|flow| !has_pages || flow.traffic.loading().is_some());
                flows.map(|flow| flow.name.clone()).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(table: &str, column: &str, aggregate: &str) -> Result<Quantity, UnknownQuantity> {
        Quantity::named(table, column, None, None, aggregate)
    }

    #[test]
    fn only_columns_that_can_be_counted_are_quantities() {
        assert_eq!(number_columns()["pages"], ["start_s", "response_s"]);
        assert!(number_columns()["flows"].contains(&"completed"));
        assert!(named("flows", "controller", "mean").is_err());
        assert_eq!(named("run", "jain_index", "mean"), Ok(Quantity::JainIndex));
        let wrong = named("flow_series", "cwnd_bytes", "mean").unwrap_err().to_string();
        assert_eq!(wrong, "there is no flow_series.cwnd_bytes");
        assert!(named("flows", "bytes", "average").unwrap_err().to_string().contains("average"));
    }

    #[test]
    fn shares_and_settings_are_not_counted() {
        let is_counted = |table, column| named(table, column, "sum").unwrap().is_counted();
        for (table, column) in [
            ("flows", "timeouts"),
            ("flows", "black_holes"),
            ("legs", "segments_sent"),
            ("middlebox", "filtered"),
            ("video", "window_restarts"),
        ] {
            assert!(is_counted(table, column), "{table}.{column}");
        }
        for (table, column) in [
            ("run", "jain_index"),
            ("flows", "limited_by_recovery"),
            ("flows", "completed"),
            ("legs", "limited_by_recovery"),
            ("legs", "cwnd_bytes"),
            ("beams", "airtime"),
            ("beam_groups", "jain"),
            ("ack_control", "ratio"),
        ] {
            assert!(!is_counted(table, column), "{table}.{column}");
        }
    }

    #[test]
    fn every_column_that_is_listed_can_be_named() {
        for (table, columns) in number_columns() {
            for column in columns {
                assert!(named(table, column, "p95").is_ok(), "{table}.{column}");
            }
        }
    }

    #[test]
    fn pages_are_those_of_flows_with_web_traffic() {
        let text = "[[link]]\nbetween = ['a', 'b']\nrate = '2Mbit/s'\ndelay = '50ms'\n\
                    [[flow]]\nname = 'file'\nfrom = 'a'\nto = 'b'\ncontroller = 'reno'\ntraffic = { download = '1MB' }";
        let scenario = Scenario::parse(text, "one.toml", &[]).unwrap();
        let names = |table| -> Vec<String> {
            let quantity = named(table, "start_s", "mean").unwrap();
            quantity.names_in(&scenario)
        };
        assert_eq!(names("flows"), ["file"]);
        assert!(names("pages").is_empty());
        assert!(!named("pages", "response_s", "mean").unwrap().is_in(&scenario));
    }

    /// A path with ARQ in one direction, an ACK filter, and path MTU discovery.
    const MECHANISMS: &str = "duration = '20s'\n[[node]]\nname = 'hub'\nmiddlebox = 'ack-filter'\n\
        [[link]]\nbetween = ['a', 'hub']\nrate = '2Mbit/s'\ndelay = '50ms'\nchannel = { per = 0.05 }\n\
        forward.arq = 'selective-repeat'\n\
        [[link]]\nbetween = ['hub', 'b']\nrate = '5Mbit/s'\ndelay = '1ms'\n\
        [[flow]]\nname = 'file'\nfrom = 'a'\nto = 'b'\ncontroller = 'newreno'\n\
        traffic = { download = '500kB' }\ntransport.mtu_probing = 'always'";

    /// The value of a quantity of [`MECHANISMS`].
    fn measured(table: &str, column: &str, name: &str, direction: Option<&str>) -> Option<f64> {
        let scenario = Scenario::parse(MECHANISMS, "one.toml", &[]).unwrap();
        let recording = simulator::run(&scenario, 1, simulator::Options::default());
        let name = Some(name.to_owned());
        let direction = direction.map(str::to_owned);
        Quantity::named(table, column, name, direction, "sum").unwrap().of(&recording)
    }

    #[test]
    fn the_counters_of_a_mechanism_are_quantities() {
        assert!(measured("arq", "repeated_frames", "a-hub", Some("forward")).unwrap() > 1.0);
        assert_eq!(measured("arq", "repeated_frames", "a-hub", Some("backward")), None);
        assert_eq!(measured("arq", "repeated_frames", "hub-b", None), None, "it has no ARQ");
        assert!(measured("middlebox", "filtered", "hub", None).is_some());
        assert_eq!(measured("middlebox", "suppressed", "hub", None), None, "no such counter there");
        assert!(measured("path_mtu", "probes", "file", None).unwrap() > 0.0);
        // Without the mechanism a counter is undefined, and not zero.
        assert_eq!(measured("fec", "repaired_packets", "*", None), None);
    }

    #[test]
    fn names_of_a_mechanism_are_known_before_a_run() {
        let scenario = Scenario::parse(MECHANISMS, "one.toml", &[]).unwrap();
        let names = |table, column| named(table, column, "mean").unwrap().names_in(&scenario);
        assert_eq!(names("arq", "repeated_frames"), ["a-hub"]);
        assert_eq!(names("middlebox", "filtered"), ["hub"]);
        assert_eq!(names("path_mtu", "probes"), ["file"]);
        assert!(names("fec", "repaired_packets").is_empty());
        assert!(names("middlebox", "suppressed").is_empty(), "the filter does not count that");
        assert!(!named("fec", "repaired_packets", "mean").unwrap().is_in(&scenario));
    }

    #[test]
    fn a_column_that_numbers_rows_or_names_them_is_no_quantity() {
        let columns = number_columns();
        assert!(columns["legs"].contains(&"connections"));
        assert!(!columns["legs"].contains(&"leg") && !columns["arq"].contains(&"link"));
        for (table, number) in [
            ("page_loads", "page"),
            ("page_objects", "connection"),
            ("sessions", "session"),
            ("tunnel_end", "tunnel"),
        ] {
            assert!(!columns[table].contains(&number), "{table}.{number}");
        }
        assert!(columns.keys().all(|name| !name.ends_with("_series")));
        assert_eq!(tables_of_directions()[..3], ["links", "aqm", "arq"]);
        let columns = number_columns();
        let applications = tables_of_applications();
        assert!(applications.contains(&"call") && !applications.contains(&"aqm"));
        assert!(applications.iter().all(|name| columns.contains_key(name)));
    }
}
