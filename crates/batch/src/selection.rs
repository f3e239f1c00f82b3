//! All quantities, and the flows, links and routers of a scenario that provide them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use recording::{Recording, Table};
use scenario::Scenario;
use scenario::model::Traffic;
use thiserror::Error;

use crate::quantity::{Aggregate, Quantity, UnknownAggregate, is_called};

/// Tables with one row for each thing; the others are series.
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

/// The columns of numbers of a table, which do not depend on the recording.
fn numbers(table: Table) -> Vec<&'static str> {
    static NOTHING: LazyLock<Recording> = LazyLock::new(Recording::default);
    table.numbers(&NOTHING)
}

/// The columns that a quantity can be, by table; `run` has what is there once for each recording.
pub fn number_columns() -> BTreeMap<&'static str, Vec<&'static str>> {
    let run = (RUN, vec![JAIN_INDEX, SIMULATED_TIME]);
    let numbers = |table: Table| Some((table.fixed_name()?, numbers(table)));
    TOTALS.into_iter().filter_map(numbers).chain([run]).collect()
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
        let found = TOTALS.into_iter().find(|one| one.fixed_name() == Some(table));
        let found = found.filter(|table| numbers(*table).contains(&column));
        let table = found.ok_or_else(|| UnknownQuantity::Column(table.into(), column.into()))?;
        Ok(Self::Of { table, name, direction, column: column.to_owned(), aggregate })
    }

    /// Returns true if `scenario` has flows, pages or links that this quantity is taken from.
    pub fn is_in(&self, scenario: &Scenario) -> bool {
        let Self::Of { name, .. } = self else { return true };
        let called = |one: &str| name.as_deref().is_none_or(|name| is_called(one, name));
        self.names_in(scenario).any(called)
    }

    /// Names of flows, of flows with pages, or of links and routers that it may have in `scenario`.
    pub fn names_in<'a>(&self, scenario: &'a Scenario) -> impl Iterator<Item = &'a str> {
        let (table, direction) = match self {
            Self::Of { table, direction, .. } => (Some(*table), direction.as_deref()),
            Self::JainIndex | Self::SimulatedTime => (None, None),
        };
        let has_links = table == Some(Table::Links) && direction != Some("forwarding");
        let has_routers = table == Some(Table::Links)
            && direction.is_none_or(|direction| direction == "forwarding");
        let has_flows = table.is_some_and(|table| table != Table::Links);
        let has_pages = matches!(table, Some(Table::Pages | Table::Objects));
        let links = scenario.links.iter().filter(move |_| has_links).map(|link| &link.name);
        let routers =
            scenario.nodes.iter().filter(move |node| has_routers && node.forwarding.is_some());
        let flows = scenario.flows.iter().filter(move |flow| {
            has_flows && (!has_pages || matches!(flow.traffic, Traffic::Web { .. }))
        });
        let routers = routers.map(|node| &node.name);
        links.chain(routers).chain(flows.map(|flow| &flow.name)).map(String::as_str)
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
            quantity.names_in(&scenario).map(str::to_owned).collect()
        };
        assert_eq!(names("flows"), ["file"]);
        assert!(names("pages").is_empty());
        assert!(!named("pages", "response_s", "mean").unwrap().is_in(&scenario));
    }
}
