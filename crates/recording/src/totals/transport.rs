//! Totals of one flow that only its transport protocol has. Counts of the same meaning have the
//! names of TCP's.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::tables::column::Column;
use crate::tables::extra::Kind;
use crate::totals::record::{Cell, Field, FieldInfo, Record, record, values};

/// Declares the protocols: variant, name, record, and the method that returns the record. In
/// brackets: macro of the record, and its class in Python. `$` comes first for the macro
/// `each_transport_record`.
macro_rules! protocols {
    (($d:tt) $(
        $(#[doc = $doc:tt])*
        $variant:ident $name:literal $(, $like:ident $like_name:literal)?
        of $record:ident by $method:ident [$macro:ident, $class:ident]
    );+ $(;)?) => {
        /// The part of a flow's totals that only its transport protocol has. In JSON its fields
        /// stand among those of the flow, after `protocol`; in the table `flows` they are null for
        /// other protocols.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "protocol")]
        pub enum ProtocolRecord {
            $(#[doc = concat!("Name: `", $name, "`.")]
            #[serde(rename = $name)]
            $variant($record),
            $(#[doc = concat!("Name: `", $like_name, "`.")]
            #[serde(rename = $like_name)]
            $like($record),)?)+
        }

        impl ProtocolRecord {
            /// Name of the protocol.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name, $(Self::$like(_) => $like_name,)?)+
                }
            }

            $($(#[doc = $doc])*
            pub fn $method(&self) -> Option<&$record> {
                if let Self::$variant(one) $(| Self::$like(one))? = self { Some(one) } else { None }
            })+

            /// Fields and values of the record.
            fn cells(&self) -> (&'static [FieldInfo], Vec<Cell<'_>>) {
                match self {
                    $(Self::$variant(one) $(| Self::$like(one))? => ($record::FIELDS, one.cells()),)+
                }
            }
        }

        /// Passes the records of [`ProtocolRecord`] to a macro: documentation, method, record,
        /// macro of the record and class in Python.
        #[macro_export]
        macro_rules! each_transport_record {
            ($d callback:ident) => {
                $d callback! { $($(#[doc = $doc])* $method $record $macro $class;)+ }
            };
        }
    };
}

protocols! {
    ($)
    /// Totals of TCP and SCPS-TP; None for another protocol.
    Tcp "tcp", ScpsTp "scps-tp" of TcpRecord by tcp [tcp_record, TcpTotals];
    /// Totals that only QUIC has; None for another protocol.
    Quic "quic" of QuicRecord by quic [quic_record, QuicTotals];
    /// Totals that only STP has; None for another protocol.
    Stp "stp" of StpRecord by stp [stp_record, StpTotals];
    /// Totals that only XTP has; None for another protocol.
    Xtp "xtp" of XtpRecord by xtp [xtp_record, XtpTotals];
    /// Totals that only SCTP has; None for another protocol.
    Sctp "sctp" of SctpRecord by sctp [sctp_record, SctpTotals];
    /// Totals that only UDP has; None for another protocol.
    Udp "udp" of UdpRecord by udp [udp_record, UdpTotals];
}

impl Default for ProtocolRecord {
    fn default() -> Self {
        Self::Tcp(TcpRecord::default())
    }
}

impl Field for ProtocolRecord {
    const KIND: Option<Kind> = Some(Kind::Text);

    fn cell(&self) -> Cell<'_> {
        Cell::Text(self.name())
    }
}

/// The columns of `flows` for counts of protocols: those of TCP and QUIC, which other protocols
/// have as far as the names are the same. The counts that only one of the others has are in the
/// totals.
pub(crate) fn columns<'a>(protocols: impl Iterator<Item = &'a ProtocolRecord>) -> Vec<Column<'a>> {
    let rows: Vec<_> = protocols.map(ProtocolRecord::cells).collect();
    let is_new = |field: &&FieldInfo| TcpRecord::FIELDS.iter().all(|tcp| tcp.name != field.name);
    let of_quic = QuicRecord::FIELDS.iter().filter(is_new);
    // The words of quinn are in the totals.
    let fields = TcpRecord::FIELDS.iter().chain(of_quic).filter(|field| field.name != "error");
    fields
        .filter_map(|field| {
            let cells = rows.iter().map(|(fields, cells)| {
                let place = fields.iter().position(|one| one.name == field.name);
                place.map_or(Cell::Null, |place| cells[place])
            });
            Some(Column { name: field.name, values: values(field.kind?, true, cells) })
        })
        .collect()
}

record! {
    ($) tcp_record;
    /// Totals of one flow that only TCP has.
    TcpRecord {
        /// Name of the loss recovery.
        recovery: Cow<'static, str>,
        /// Data segments sent, retransmissions included, without probes.
        segments_sent: u64,
        /// Data segments retransmitted.
        segments_retransmitted: u64,
        /// Probes of unused capacity sent (TCP-Peach, TCP-Peach+, TCP-Cherry).
        probes_sent: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Times that fast recovery was entered.
        fast_recoveries: u64,
    }
}

record! {
    ($) quic_record;
    /// Totals of one flow that only QUIC has, named as those of TCP if they mean the same.
    QuicRecord {
        /// Packets with data sent, those included whose data was sent before.
        segments_sent: u64,
        /// Packets found to be lost. Their data is retransmitted in new packets.
        segments_retransmitted: u64,
        /// Number of times that a loss reduced the window.
        fast_recoveries: u64,
        /// Probe timeouts of the data sender, which reduce no window (RFC 9002 section 6.2).
        timeouts: u64,
        /// Number of times that all packets of a longer period were lost (RFC 9002 section 7.6).
        persistent_congestions: u64,
        /// ACK frames that the data receiver has sent.
        acks_sent: u64,
        /// ACK_FREQUENCY frames that the data sender has sent.
        ack_frequency_sent: u64,
        /// IMMEDIATE_ACK frames that the data sender has sent, in its probes.
        immediate_acks_sent: u64,
        /// Probes of the path MTU that the data sender has sent.
        mtu_probes_sent: u64,
        /// Probes of the path MTU that were lost.
        mtu_probes_lost: u64,
        /// Number of times that packets of the size found no longer arrived.
        black_holes: u64,
        /// Why a connection ended before its time, in the words of quinn; None if none did.
        #[serde(default)]
        error: Option<String>,
    }
}

record! {
    ($) stp_record;
    /// Totals of one flow that only STP has, named as those of TCP if they mean the same.
    StpRecord {
        /// Data packets sent, retransmissions included.
        segments_sent: u64,
        /// Data packets retransmitted.
        segments_retransmitted: u64,
        /// Number of times that a loss reduced the window.
        fast_recoveries: u64,
        /// POLLs without data that the data sender has sent.
        polls_sent: u64,
        /// STATs that the data receiver has sent.
        stats_sent: u64,
        /// USTATs that the data receiver has sent.
        ustats_sent: u64,
        /// Losses that probes of XSTP took for corruption.
        probed_corruption: u64,
        /// Losses that probes of XSTP took for congestion.
        probed_congestion: u64,
        /// Outages that probes of XSTP have found.
        probed_outages: u64,
    }
}

record! {
    ($) xtp_record;
    /// Totals of one flow that only XTP has, named as those of TCP if they mean the same.
    XtpRecord {
        /// Data packets sent, retransmissions included.
        segments_sent: u64,
        /// Data packets retransmitted.
        segments_retransmitted: u64,
        /// Packets with a request (SREQ or DREQ) that the data sender has sent.
        requests_sent: u64,
        /// Reports that the data receiver has sent: CNTL, ECNTL and TCNTL.
        reports_sent: u64,
        /// Those of them that show a gap: ECNTL.
        gap_reports_sent: u64,
        /// Synchronising handshakes that the data sender has begun.
        handshakes: u64,
    }
}

record! {
    ($) sctp_record;
    /// Totals of one flow that only SCTP has, named as those of TCP if they mean the same.
    SctpRecord {
        /// DATA chunks sent, retransmissions included.
        segments_sent: u64,
        /// DATA chunks retransmitted.
        segments_retransmitted: u64,
        /// Expiries of T3-rtx.
        timeouts: u64,
        /// Number of times that fast recovery was entered.
        fast_recoveries: u64,
        /// Packets with DATA chunks that the data sender has sent.
        data_packets_sent: u64,
        /// SACK chunks that the data receiver has sent.
        sacks_sent: u64,
        /// DATA chunks that have reached the data receiver more than once.
        duplicates_received: u64,
        /// HEARTBEAT chunks of both ends.
        heartbeats_sent: u64,
        /// Times that the data sender found a path to be inactive.
        path_failures: u64,
        /// Times that its new data took another path.
        path_changes: u64,
    }
}

record! {
    ($) udp_record;
    /// Totals of one flow that only UDP has.
    UdpRecord {
        /// Datagrams that the data sender has sent.
        datagrams_sent: u64,
        /// Datagrams that the other end has sent.
        answers_sent: u64,
    }
}
