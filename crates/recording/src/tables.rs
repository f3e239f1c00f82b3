//! The tables of a recording. Names of columns are the names of the fields, with one exception
//! that nesting asks for: rows of pages and objects begin with the numbers of what they belong to.

mod arrow;
pub(crate) mod column;
pub(crate) mod extra;
pub(crate) mod parquet;
pub(crate) mod saved;
pub(crate) mod texts;

use crate::totals::Recording;
use crate::totals::flow::FlowRecord;
use crate::totals::page::{ObjectRecord, PageRecord};
use crate::totals::record::columns;
use crate::totals::transport;
use column::{Column, Values};
use extra::Role;

/// A part of a recording that has rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// One row for each flow. Its pages are in [`Table::Pages`].
    Flows,
    /// One row for each direction of a link.
    Links,
    /// One row for each web page; `flow` is the row of its flow in [`Table::Flows`].
    Pages,
    /// One row for each object of a page; `page` counts the pages of its flow.
    Objects,
    /// Senders over time; `flow` is the row of the flow in [`Table::Flows`].
    FlowSeries,
    /// Links over time; `link` is the row of the link in [`Table::Links`].
    LinkSeries,
    /// The table of this number in [`Recording::tables`].
    Extra(usize),
}

impl Table {
    /// The tables of every recording.
    pub const FIXED: [Self; 6] =
        [Self::Flows, Self::Links, Self::Pages, Self::Objects, Self::FlowSeries, Self::LinkSeries];

    /// All tables of a recording: the fixed ones and its own.
    pub fn all(recording: &Recording) -> impl Iterator<Item = Self> + use<> {
        Self::FIXED.into_iter().chain((0..recording.tables.len()).map(Self::Extra))
    }

    /// The table of this name.
    pub fn find(name: &str, recording: &Recording) -> Option<Self> {
        Self::all(recording).find(|table| table.name(recording) == name)
    }

    /// Name of a fixed table; `None` for one of [`Recording::tables`].
    pub fn fixed_name(self) -> Option<&'static str> {
        Some(match self {
            Self::Flows => "flows",
            Self::Links => "links",
            Self::Pages => "pages",
            Self::Objects => "objects",
            Self::FlowSeries => "flow_series",
            Self::LinkSeries => "link_series",
            Self::Extra(_) => return None,
        })
    }

    /// Name of the table, and of its file before `.parquet`.
    ///
    /// # Panics
    /// `recording` has no such [`Table::Extra`].
    pub fn name(self, recording: &Recording) -> &str {
        match self {
            Self::Extra(number) => recording.tables[number].name(),
            fixed => fixed.fixed_name().expect("only extra tables have no fixed name"),
        }
    }

    /// Returns true if the recording has no row of this table.
    pub fn is_empty(self, recording: &Recording) -> bool {
        let mut pages = recording.flows.iter().flat_map(|flow| &flow.pages);
        match self {
            Self::Flows => recording.flows.is_empty(),
            Self::Links => recording.links.is_empty(),
            Self::Pages => pages.next().is_none(),
            Self::Objects => pages.all(|page| page.objects.is_empty()),
            Self::FlowSeries => recording.flow_series.is_empty(),
            Self::LinkSeries => recording.link_series.is_empty(),
            Self::Extra(number) => recording.tables[number].is_empty(),
        }
    }

    /// Columns that hold numbers, or flags that count as one and zero.
    pub fn numbers(self, recording: &Recording) -> Vec<(&str, Role)> {
        let role = |values: &Values<'_>| match values {
            Values::Text(_) | Values::TextOrNone(_) | Values::U32(_) => None,
            Values::U64(_) | Values::U64OrUnset(_) => Some(Role::Count),
            Values::Bool(_) | Values::F64(_) => Some(Role::Measure),
        };
        let columns = self.columns(recording).into_iter();
        columns.filter_map(|column| Some((column.name, role(&column.values)?))).collect()
    }

    /// The columns of this table.
    pub fn columns(self, recording: &Recording) -> Vec<Column<'_>> {
        match self {
            Self::Flows => flows(&recording.flows),
            Self::Links => columns(recording.links.iter()),
            Self::Pages => pages(&recording.flows),
            Self::Objects => objects(&recording.flows),
            Self::FlowSeries => recording.flow_series.columns(),
            Self::LinkSeries => recording.link_series.columns(),
            Self::Extra(number) => recording.tables[number].columns(),
        }
    }
}

/// The columns of `flows`: the protocol follows the controller, its counts are last.
fn flows(flows: &[FlowRecord]) -> Vec<Column<'_>> {
    let mut columns = columns(flows.iter());
    let of = |columns: &[Column<'_>], name| columns.iter().position(|column| column.name == name);
    if let (Some(from), Some(to)) = (of(&columns, "protocol"), of(&columns, "completed")) {
        let protocol = columns.remove(from);
        columns.insert(to, protocol);
    }
    columns.extend(transport::columns(flows.iter().map(|flow| &flow.protocol)));
    columns
}

/// A column with the numbers of what the rows belong to.
fn numbers(name: &'static str, numbers: impl Iterator<Item = u32>) -> Column<'static> {
    Column { name, values: Values::U32(numbers.collect()) }
}

/// Every page with the numbers of its flow and of itself within the flow.
fn numbered_pages(flows: &[FlowRecord]) -> impl Iterator<Item = (u32, u32, &PageRecord)> {
    (0..).zip(flows).flat_map(|(flow, record)| {
        (0..).zip(&record.pages).map(move |(page, record)| (flow, page, record))
    })
}

fn pages(flows: &[FlowRecord]) -> Vec<Column<'_>> {
    let rows: Vec<_> = numbered_pages(flows).collect();
    let mut all = vec![
        numbers("flow", rows.iter().map(|row| row.0)),
        numbers("page", rows.iter().map(|row| row.1)),
    ];
    all.extend(columns(rows.iter().map(|row| row.2)));
    all
}

fn objects(flows: &[FlowRecord]) -> Vec<Column<'_>> {
    let rows: Vec<(u32, u32, u32, &ObjectRecord)> = numbered_pages(flows)
        .flat_map(|(flow, page, record)| {
            (0..).zip(&record.objects).map(move |(object, record)| (flow, page, object, record))
        })
        .collect();
    let mut all = vec![
        numbers("flow", rows.iter().map(|row| row.0)),
        numbers("page", rows.iter().map(|row| row.1)),
        numbers("object", rows.iter().map(|row| row.2)),
    ];
    all.extend(columns(rows.iter().map(|row| row.3)));
    all
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::series::{FlowSample, LinkSample};
    use crate::tables::extra::ExtraTable;
    use crate::totals::Backend;
    use crate::totals::flow::FlowFigures;
    use crate::totals::link::LinkRecord;
    use crate::totals::transport::{ProtocolRecord, QuicRecord, StpRecord};
    use std::collections::{BTreeMap, BTreeSet};

    crate::extra_table! {
        /// Handovers between satellites.
        Handovers("handovers") of Handover {
            t_s: f64,
            satellite: String,
            planned: bool,
            queue_packets: u32,
            queue_bytes: u64,
        }
    }

    /// A table of its own with a handover to `satellite`, and one before whose time is unknown.
    pub(crate) fn handovers(satellite: &str, queue_bytes: u64) -> ExtraTable {
        let first = Handover {
            t_s: f64::NAN,
            satellite: "s-6".into(),
            planned: true,
            queue_packets: 0,
            queue_bytes: 0,
        };
        let mut table = Handovers::default();
        table.push(first.clone());
        table.push(Handover { t_s: 15.0, satellite: satellite.into(), queue_bytes, ..first });
        table.into_table()
    }

    /// A small recording that has something of everything.
    pub(crate) fn sample() -> Recording {
        let object = |bytes, response_s| ObjectRecord { bytes, start_s: 1.0, response_s };
        let page = |start_s, response_s, objects| PageRecord { start_s, response_s, objects };
        let figures = FlowFigures {
            completion_s: Some(2.5),
            mean_rtt_ms: Some(612.5),
            max_rtt_ms: Some(700.25),
            offered_bytes: Some(4000),
            burst_completion_s: Some(0.75),
            pages: vec![
                page(1.0, Some(0.5), vec![object(1000, Some(0.25)), object(2000, Some(0.5))]),
                page(2.0, None, vec![object(3000, None)]),
            ],
            controller: "adalr".into(),
            goodput_bps: 1e6,
            ..FlowFigures::default()
        };
        let record = |name: &str, figures: FlowFigures| FlowRecord {
            flow: name.into(),
            figures: figures.into(),
            ..FlowRecord::default()
        };
        let web = record("web", figures);
        let bulk = record("bulk", FlowFigures { bytes: 1 << 60, ..FlowFigures::default() });
        let link = LinkRecord {
            link: "a-b".into(),
            delivered_packets: 7,
            p95_queue_bytes: Some(1500.5),
            ..LinkRecord::default()
        };
        let mut recording = Recording {
            scenario: "geo-download".into(),
            backend: Backend::Simulator,
            tables: vec![handovers("s-7", 3000)],
            seed: u64::MAX - 1,
            version: "0.1.0".into(),
            wall_s: 0.25,
            jain_index: Some(0.5),
            flows: vec![bulk, web],
            links: vec![link],
            ..Recording::default()
        };
        recording.flow_series.push(FlowSample {
            flow: 0,
            t_s: 0.5,
            cwnd_bytes: 4380,
            ssthresh_bytes: u64::MAX,
            srtt_ms: f64::NAN,
            rto_ms: 1000.0,
            ..FlowSample::default()
        });
        recording.flow_series.push(FlowSample {
            flow: 1,
            t_s: 1.0,
            ssthresh_bytes: 65_535,
            srtt_ms: 560.5,
            ..FlowSample::default()
        });
        recording.link_series.push(LinkSample {
            t_s: 1.0,
            queue_packets: 3,
            ..LinkSample::default()
        });
        recording
    }

    fn names(columns: &[Column<'_>]) -> BTreeSet<String> {
        columns.iter().map(|column| column.name.to_owned()).collect()
    }

    fn json_names(record: impl serde::Serialize, nested: &str) -> BTreeSet<String> {
        let value = serde_json::to_value(record).unwrap();
        value.as_object().unwrap().keys().filter(|key| *key != nested).cloned().collect()
    }

    #[test]
    fn every_number_of_the_totals_in_json_is_in_its_table() {
        let recording = sample();
        let (flow, link) = (&recording.flows[1], &recording.links[0]);
        let protocol = ProtocolRecord::Quic(QuicRecord::default());
        let mut quic = flow.clone();
        quic.protocol = protocol;
        let mut over_quic = json_names(quic, "pages");
        assert!(over_quic.remove("error"), "the words of quinn have no column");
        let of_all = &json_names(flow, "pages") | &over_quic;
        assert!(of_all.is_subset(&names(&flows(&recording.flows))));
        assert!(json_names(link, "").is_subset(&names(&Table::Links.columns(&recording))));
        let page = json_names(&flow.pages[0], "objects");
        assert!(page.is_subset(&names(&pages(&recording.flows))));
        let object = json_names(&flow.pages[0].objects[0], "");
        assert!(object.is_subset(&names(&objects(&recording.flows))));
    }

    #[test]
    fn counts_of_protocols_are_null_where_a_flow_has_none() {
        let stp = ProtocolRecord::Stp(StpRecord { segments_sent: 9, ..StpRecord::default() });
        let tcp = FlowRecord::default();
        let mut rows = [tcp.clone(), tcp];
        rows[1].protocol = stp;
        let found = flows(&rows)
            .into_iter()
            .map(|column| (column.name, [0, 1].map(|row| column.values.number(row))))
            .collect::<BTreeMap<_, _>>();
        assert_eq!(found["segments_sent"], [Some(0.0), Some(9.0)]);
        assert_eq!(found["timeouts"], [Some(0.0), None]);
        assert_eq!(found["acks_sent"], [None, None]);
        assert!(!found.contains_key("polls_sent"), "it is in the totals only");
    }

    #[test]
    fn objects_know_their_page_and_their_flow() {
        let recording = sample();
        let columns = Table::Objects.columns(&recording);
        let numbers: Vec<&[u32]> = columns
            .iter()
            .filter_map(|column| match &column.values {
                Values::U32(values) => Some(&values[..]),
                _ => None,
            })
            .collect();
        assert_eq!(numbers, [&[1, 1, 1][..], &[0, 0, 1], &[0, 1, 0]]);
    }

    #[test]
    fn an_empty_recording_has_only_empty_tables() {
        let (empty, full) = (Recording::default(), sample());
        assert!(Table::all(&empty).all(|table| table.is_empty(&empty)));
        assert!(Table::all(&full).all(|table| !table.is_empty(&full)));
        assert_eq!(Table::find("handovers", &full), Some(Table::Extra(0)));
        assert_eq!(Table::find("handovers", &empty), None);
    }
}
