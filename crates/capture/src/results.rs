//! Results of a capture. Each record is declared once; a macro passes the declaration on to other
//! crates.

/// Declares a record: its struct, and a macro with the declaration. `$` comes first for that macro.
macro_rules! record {
    (($d:tt) $macro:ident; $(#[doc = $doc:tt])* $name:ident {
        $($(#[doc = $about:tt])* $field:ident: $type:ty),+ $(,)?
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $($(#[doc = $about])* pub $field: $type,)+ }

        #[doc = concat!("Passes the declaration of [`", stringify!($name), "`] to a macro.")]
        #[macro_export]
        macro_rules! $macro {
            ($d callback:ident $d extra:tt) => {
                $d callback! {
                    $d extra
                    $(#[doc = $doc])* $name { $($(#[doc = $about])* $field: $type,)+ }
                }
            };
        }
    };
}

record! {
    ($) capture_record;
    /// The TCP connections of a capture. Times count from its first packet.
    CaptureRecord {
        /// Number of packets.
        packets: u64,
        /// Number of packets of TCP in connections.
        tcp_packets: u64,
        /// Time of the first packet since 1970 in s.
        started_s: f64,
        /// Time from the first to the last packet in s.
        duration_s: f64,
        /// Parts of the file that are not in the results, each as a sentence.
        warnings: Vec<String>,
        /// Connections in the order of their first packets.
        connections: Vec<ConnectionRecord>,
    }
}

record! {
    ($) connection_record;
    /// A TCP connection of a capture. RTTs are those between the capture and an end.
    ConnectionRecord {
        /// Number in the order of first packets, from 1: `tcp.stream` of Wireshark, plus 1.
        number: u64,
        /// Address and port of the end that sent the SYN, or the first captured packet.
        client: String,
        /// Address and port of the other end.
        server: String,
        /// True if a SYN was captured.
        client_known: bool,
        /// Time of the first packet in s.
        start_s: f64,
        /// Time from the first to the last packet in s.
        duration_s: f64,
        /// Number of packets.
        packets: u64,
        /// Time from the SYN to the first ACK in ms; None if a SYN was repeated or missing.
        handshake_rtt_ms: Option<f64>,
        /// RTT between capture and client in ms: from the handshake, otherwise the minimum.
        client_rtt_ms: Option<f64>,
        /// RTT between capture and server in ms: from the handshake, otherwise the minimum.
        server_rtt_ms: Option<f64>,
        /// Place of the capture by these RTTs: `client`, `server` or `between`; None if unknown.
        captured_at: Option<String>,
        /// `closed` (both FINs), `half-closed`, `reset by client`, `reset by server`, or `open`.
        end: String,
        /// Number of times without packets and data in flight, as long as stalls.
        idle_times: u64,
        /// Sum of these times in s.
        idle_s: f64,
        /// Sentences on what limits the results.
        notes: Vec<String>,
        /// Data from the client to the server.
        to_server: DirectionRecord,
        /// Data from the server to the client.
        to_client: DirectionRecord,
    }
}

record! {
    ($) direction_record;
    /// Data of one end of a captured connection, with the ACKs of the other end for it.
    DirectionRecord {
        /// Packets of this direction, without copies.
        packets: u64,
        /// Segments with data.
        data_segments: u64,
        /// Length of the data from the first to the highest byte.
        bytes: u64,
        /// Bytes of it that are not in the capture.
        missing_bytes: u64,
        /// Bytes of data in all segments.
        sent_bytes: u64,
        /// Length of the data times 8, by the time from the first data to its last ACK, in bit/s.
        goodput_bps: Option<f64>,
        /// Retransmitted segments, as `tcp.analysis.retransmission` of Wireshark.
        retransmissions: u64,
        /// Bytes of data in them.
        retransmitted_bytes: u64,
        /// Those after two duplicate ACKs, as `tcp.analysis.fast_retransmission`.
        fast_retransmissions: u64,
        /// Those of acknowledged data, as `tcp.analysis.spurious_retransmission`.
        spurious_retransmissions: u64,
        /// All others: after a timeout, or by SACK or RACK.
        other_retransmissions: u64,
        /// Segments with data that was captured before, as `rexmt data pkts` of tcptrace.
        ///
        /// They are retransmissions for certain, also where Wireshark takes them for segments out
        /// of order.
        repeated_segments: u64,
        /// Segments out of order, as `tcp.analysis.out_of_order`.
        out_of_order: u64,
        /// Segments behind the highest byte with data that was not captured before.
        ///
        /// It was lost or late on the way to the capture.
        filled_gaps: u64,
        /// Segments before which data is missing, as `tcp.analysis.lost_segment`.
        gaps: u64,
        /// Duplicate ACKs for this data, as `tcp.analysis.duplicate_ack`.
        duplicate_acks: u64,
        /// ACKs for data that was not captured, as `tcp.analysis.ack_lost_segment`.
        unseen_acks: u64,
        /// Number of RTTs.
        ///
        /// One is an ACK of the last byte of a segment that was sent once, with no earlier data
        /// sent after it. The SYN does not count.
        rtt_samples: u64,
        /// Minimum RTT from data to its ACK in ms, between the capture and the receiver.
        min_rtt_ms: Option<f64>,
        /// Mean in ms.
        mean_rtt_ms: Option<f64>,
        /// Median in ms, within 0.8 %.
        median_rtt_ms: Option<f64>,
        /// 95th percentile in ms, within 0.8 %.
        p95_rtt_ms: Option<f64>,
        /// 99th percentile in ms, within 0.8 %.
        p99_rtt_ms: Option<f64>,
        /// Maximum in ms.
        max_rtt_ms: Option<f64>,
        /// Number of RTTs by timestamps (RFC 7323).
        timestamp_rtt_samples: u64,
        /// Minimum RTT by timestamps in ms.
        min_timestamp_rtt_ms: Option<f64>,
        /// Median in ms, within 0.8 %.
        median_timestamp_rtt_ms: Option<f64>,
        /// 95th percentile in ms, within 0.8 %.
        p95_timestamp_rtt_ms: Option<f64>,
        /// RTT between the capture and the sender in ms, which these RTTs miss; None if unknown.
        missed_rtt_ms: Option<f64>,
        /// Maximum of the data in flight after the highest ACK; None without ACKs.
        max_flight_bytes: Option<u64>,
        /// Maximum of the window that the receiver advertised; None if its scale is unknown.
        max_window_bytes: Option<u64>,
        /// Time in s with a window without room for a full segment; None if its scale is unknown.
        window_limited_s: Option<f64>,
        /// Segments up to the end of the window, as `tcp.analysis.window_full`.
        window_full: u64,
        /// Packets of the receiver with a window of zero, as `tcp.analysis.zero_window`.
        zero_windows: u64,
        /// Time in s with a window of zero.
        zero_window_s: f64,
        /// Probes of a window of zero, as `tcp.analysis.zero_window_probe`.
        zero_window_probes: u64,
        /// Keep-alives, as `tcp.analysis.keep_alive`.
        keep_alives: u64,
        /// Number of times without packets, longer than min(2 SRTT, RTO) and 10 ms.
        ///
        /// Data is in flight in them, or the window has no room for a segment.
        stalls: u64,
        /// Stalls that a retransmission ended.
        stalls_by_retransmission: u64,
        /// Stalls in which the window had no room and nothing was in flight.
        stalls_by_window: u64,
        /// Sum of all stalls in s.
        stalled_s: f64,
        /// Longest stall in s; None without stalls.
        longest_stall_s: Option<f64>,
        /// Longest time between packets of this direction in s, as `idletime max` of tcptrace.
        longest_gap_s: f64,
        /// MSS option of the sender's SYN.
        mss: Option<u64>,
        /// Window scale option of the sender's SYN, as a shift.
        window_scale: Option<u64>,
        /// The sender's SYN has SACK-permitted; None if it was not captured.
        sack_permitted: Option<bool>,
        /// The sender's SYN has timestamps; None if it was not captured.
        timestamps: Option<bool>,
        /// Bytes of data in the longest segment.
        longest_segment_bytes: u64,
        /// Segments longer than the MSS, which a host with offload hands to the capture.
        segments_longer_than_mss: u64,
        /// Packets that were captured before, or duplicated on the way; they count nowhere else.
        copies: u64,
        /// RST segments.
        resets: u64,
        /// Time in s at which the first lost data was sent first; None without repeated segments.
        first_loss_sent_s: Option<f64>,
        /// Time in s of its retransmission.
        first_loss_repeated_s: Option<f64>,
        /// Time in s of the ACK for it; None if there was none.
        first_loss_acked_s: Option<f64>,
    }
}
