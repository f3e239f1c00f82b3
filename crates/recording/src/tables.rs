//! The tables of a recording. Names of columns are the names of the fields, with one exception
//! that nesting asks for: rows of pages and objects begin with the numbers of what they belong to.

use crate::columns::{Column, Values};
use crate::totals::{
    FlowRecord, LinkRecord, ObjectRecord, PageRecord, ProtocolRecord, QueueingRecord, QuicRecord,
    Recording, RttRecord, TcpRecord,
};

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
    /// What the senders did over time; `flow` is the row of the flow in [`Table::Flows`].
    FlowSeries,
    /// What the links did over time; `link` is the row of the link in [`Table::Links`].
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

    /// Whether the recording has no row of this table.
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

    /// Names of the columns that hold numbers, or flags that count as one and zero.
    pub fn numbers(self, recording: &Recording) -> Vec<&str> {
        let columns = self.columns(recording).into_iter();
        columns
            .filter(|column| {
                !matches!(column.values, Values::Text(_) | Values::TextOrNone(_) | Values::U32(_))
            })
            .map(|column| column.name)
            .collect()
    }

    /// The columns of this table.
    pub fn columns(self, recording: &Recording) -> Vec<Column<'_>> {
        match self {
            Self::Flows => flows(&recording.flows),
            Self::Links => links(&recording.links),
            Self::Pages => pages(&recording.flows),
            Self::Objects => objects(&recording.flows),
            Self::FlowSeries => recording.flow_series.columns(),
            Self::LinkSeries => recording.link_series.columns(),
            Self::Extra(number) => recording.tables[number].columns(),
        }
    }
}

/// Columns of a slice of records: `table!(rows => name: Kind of |row| value, ...)`.
macro_rules! table {
    ($rows:expr => $($name:ident: $kind:ident of |$row:pat_param| $value:expr),+ $(,)?) => {
        vec![$(Column {
            name: stringify!($name),
            values: Values::$kind($rows.iter().map(|$row| $value).collect()),
        },)+]
    };
}

/// Seconds or milliseconds that may never have come.
fn or_nan(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

fn flows(flows: &[FlowRecord]) -> Vec<Column<'_>> {
    table!(flows =>
        flow: Text of |f| f.flow.as_str(),
        controller: Text of |f| &*f.controller,
        controller_status: Text of |f| &*f.controller_status,
        protocol: Text of |f| f.protocol.name(),
        completed: Bool of |f| f.completed,
        aborted: Bool of |f| f.aborted,
        abort_cause: TextOrNone of |f| f.abort_cause.as_deref(),
        bytes: U64 of |f| f.bytes,
        start_s: F64 of |f| f.start_s,
        completion_s: F64 of |f| or_nan(f.completion_s),
        goodput_bps: F64 of |f| f.goodput_bps,
        throughput_bps: F64 of |f| f.throughput_bps,
        srtt_ms: F64 of |f| or_nan(f.srtt_ms),
        min_rtt_ms: F64 of |f| or_nan(f.min_rtt_ms),
        mean_rtt_ms: F64 of |f| rtt(f, |rtt| rtt.mean_rtt_ms),
        median_rtt_ms: F64 of |f| rtt(f, |rtt| rtt.median_rtt_ms),
        p95_rtt_ms: F64 of |f| rtt(f, |rtt| rtt.p95_rtt_ms),
        p99_rtt_ms: F64 of |f| rtt(f, |rtt| rtt.p99_rtt_ms),
        max_rtt_ms: F64 of |f| rtt(f, |rtt| rtt.max_rtt_ms),
        cwnd_bytes: U64 of |f| f.cwnd_bytes,
        page_response_s: F64 of |f| or_nan(f.page_response_s),
        offered_bytes: U64OrUnset of |f| f.offered_bytes.unwrap_or(u64::MAX),
        burst_completion_s: F64 of |f| or_nan(f.burst_completion_s),
        // What not all protocols have is null for the others.
        recovery: TextOrNone of |f| f.protocol.tcp().map(|tcp| &*tcp.recovery),
        segments_sent: U64OrUnset of |f| f.protocol.packets().sent,
        segments_retransmitted: U64OrUnset of |f| f.protocol.packets().retransmitted,
        probes_sent: U64OrUnset of |f| tcp(f, |tcp| tcp.probes_sent),
        timeouts: U64OrUnset of |f| match &f.protocol {
            ProtocolRecord::Tcp(tcp) | ProtocolRecord::ScpsTp(tcp) => tcp.timeouts,
            ProtocolRecord::Quic(quic) => quic.timeouts,
            ProtocolRecord::Sctp(sctp) => sctp.timeouts,
            ProtocolRecord::Stp(_) | ProtocolRecord::Xtp(_) => u64::MAX,
        },
        fast_recoveries: U64OrUnset of |f| f.protocol.packets().recoveries.unwrap_or(u64::MAX),
        persistent_congestions: U64OrUnset of |f| quic(f, |quic| quic.persistent_congestions),
        acks_sent: U64OrUnset of |f| quic(f, |quic| quic.acks_sent),
        ack_frequency_sent: U64OrUnset of |f| quic(f, |quic| quic.ack_frequency_sent),
        immediate_acks_sent: U64OrUnset of |f| quic(f, |quic| quic.immediate_acks_sent),
        mtu_probes_sent: U64OrUnset of |f| quic(f, |quic| quic.mtu_probes_sent),
        mtu_probes_lost: U64OrUnset of |f| quic(f, |quic| quic.mtu_probes_lost),
        black_holes: U64OrUnset of |f| quic(f, |quic| quic.black_holes),
    )
}

/// A figure of the RTT; null without samples.
fn rtt(flow: &FlowRecord, figure: fn(&RttRecord) -> f64) -> f64 {
    flow.rtt.as_ref().map_or(f64::NAN, figure)
}

/// A count of TCP; unset for other protocols.
fn tcp(flow: &FlowRecord, count: fn(&TcpRecord) -> u64) -> u64 {
    flow.protocol.tcp().map_or(u64::MAX, count)
}

/// A count of QUIC; unset for other protocols.
fn quic(flow: &FlowRecord, count: fn(&QuicRecord) -> u64) -> u64 {
    flow.protocol.quic().map_or(u64::MAX, count)
}

fn links(links: &[LinkRecord]) -> Vec<Column<'_>> {
    table!(links =>
        link: Text of |l| l.link.as_str(),
        direction: Text of |l| l.direction.as_str(),
        utilisation: F64 of |l| l.utilisation,
        delivered_packets: U64 of |l| l.delivered_packets,
        delivered_bytes: U64 of |l| l.delivered_bytes,
        dropped_packets: U64 of |l| l.dropped_packets,
        corrupted_packets: U64 of |l| l.corrupted_packets,
        max_queue_bytes: U64 of |l| l.max_queue_bytes,
        mean_queueing_delay_ms: F64 of |l| queueing(l, |queueing| queueing.mean_queueing_delay_ms),
        median_queueing_delay_ms:
            F64 of |l| queueing(l, |queueing| queueing.median_queueing_delay_ms),
        p95_queueing_delay_ms: F64 of |l| queueing(l, |queueing| queueing.p95_queueing_delay_ms),
        p99_queueing_delay_ms: F64 of |l| queueing(l, |queueing| queueing.p99_queueing_delay_ms),
        max_queueing_delay_ms: F64 of |l| queueing(l, |queueing| queueing.max_queueing_delay_ms),
        mean_queue_bytes: F64 of |l| queueing(l, |queueing| queueing.mean_queue_bytes),
        median_queue_bytes: F64 of |l| queueing(l, |queueing| queueing.median_queue_bytes),
        p95_queue_bytes: F64 of |l| queueing(l, |queueing| queueing.p95_queue_bytes),
        p99_queue_bytes: F64 of |l| queueing(l, |queueing| queueing.p99_queue_bytes),
    )
}

/// A figure of the queue; null for a link without packets.
fn queueing(link: &LinkRecord, figure: fn(&QueueingRecord) -> f64) -> f64 {
    link.queueing.as_ref().map_or(f64::NAN, figure)
}

/// Every page with the numbers of its flow and of itself within the flow.
fn numbered_pages(flows: &[FlowRecord]) -> impl Iterator<Item = (u32, u32, &PageRecord)> {
    (0..).zip(flows).flat_map(|(flow, record)| {
        (0..).zip(&record.pages).map(move |(page, record)| (flow, page, record))
    })
}

fn pages(flows: &[FlowRecord]) -> Vec<Column<'static>> {
    let rows: Vec<(u32, u32, &PageRecord)> = numbered_pages(flows).collect();
    table!(rows =>
        flow: U32 of |row| row.0,
        page: U32 of |row| row.1,
        start_s: F64 of |row| row.2.start_s,
        response_s: F64 of |row| or_nan(row.2.response_s),
    )
}

fn objects(flows: &[FlowRecord]) -> Vec<Column<'static>> {
    let rows: Vec<(u32, u32, u32, &ObjectRecord)> = numbered_pages(flows)
        .flat_map(|(flow, page, record)| {
            (0..).zip(&record.objects).map(move |(object, record)| (flow, page, object, record))
        })
        .collect();
    table!(rows =>
        flow: U32 of |row| row.0,
        page: U32 of |row| row.1,
        object: U32 of |row| row.2,
        bytes: U64 of |row| row.3.bytes,
        start_s: F64 of |row| row.3.start_s,
        response_s: F64 of |row| or_nan(row.3.response_s),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::extra::ExtraTable;
    use crate::series::{FlowSample, LinkSample};
    use crate::totals::Backend;
    use std::collections::BTreeSet;

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
        let web = FlowRecord {
            flow: "web".into(),
            controller: "adalr".into(),
            completion_s: Some(2.5),
            goodput_bps: 1e6,
            rtt: Some(RttRecord { mean_rtt_ms: 612.5, max_rtt_ms: 700.25, ..RttRecord::default() }),
            offered_bytes: Some(4000),
            burst_completion_s: Some(0.75),
            pages: vec![
                page(1.0, Some(0.5), vec![object(1000, Some(0.25)), object(2000, Some(0.5))]),
                page(2.0, None, vec![object(3000, None)]),
            ],
            ..FlowRecord::default()
        };
        let bulk = FlowRecord { flow: "bulk".into(), bytes: 1 << 60, ..FlowRecord::default() };
        let queueing = QueueingRecord { p95_queue_bytes: 1500.5, ..QueueingRecord::default() };
        let link = LinkRecord {
            link: "a-b".into(),
            delivered_packets: 7,
            queueing: Some(queueing),
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
    fn no_field_of_the_totals_is_missing_in_its_table() {
        let recording = sample();
        let (flow, link) = (&recording.flows[1], &recording.links[0]);
        let protocol = ProtocolRecord::Quic(QuicRecord::default());
        let mut over_quic = json_names(FlowRecord { protocol, ..flow.clone() }, "pages");
        assert!(over_quic.remove("error"), "the words of quinn have no column");
        let of_all = &json_names(flow, "pages") | &over_quic;
        assert_eq!(names(&flows(&recording.flows)), of_all);
        assert_eq!(names(&links(&recording.links)), json_names(link, ""));

        let keys = |keys: &[&str]| keys.iter().map(|k| (*k).to_owned()).collect::<BTreeSet<_>>();
        let mut page = json_names(&flow.pages[0], "objects");
        page.extend(keys(&["flow", "page"]));
        assert_eq!(names(&pages(&recording.flows)), page);
        let mut object = json_names(&flow.pages[0].objects[0], "");
        object.extend(keys(&["flow", "page", "object"]));
        assert_eq!(names(&objects(&recording.flows)), object);
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
