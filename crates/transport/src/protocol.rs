//! The transport protocols that a flow can have: names, provenance, and the keys that each of them
//! takes.
//!
//! This is the one list of them. Scenarios, backends, `bentpipe transports` and its page read it.

use congestion::Status;

/// Declares the protocols: a variant and its description, in the order of lists.
macro_rules! protocols {
    ($($(#[$attribute:meta])* $variant:ident = $entry:ident,)+) => {
        /// A transport protocol.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
        pub enum Protocol {
            $($(#[$attribute])* $variant,)+
        }

        impl Protocol {
            /// All of them, in the order of lists.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant,)+];

            /// Description of the protocol.
            pub fn entry(self) -> &'static ProtocolEntry {
                match self {
                    $(Self::$variant => &$entry,)+
                }
            }
        }
    };
}

protocols! {
    /// TCP.
    #[default]
    Tcp = TCP,
    /// QUIC.
    Quic = QUIC,
    /// STP.
    Stp = STP,
    /// SCPS-TP.
    ScpsTp = SCPS_TP,
    /// XTP.
    Xtp = XTP,
    /// SCTP.
    Sctp = SCTP,
    /// UDP.
    Udp = UDP,
}

impl Protocol {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns true if flows have a congestion controller of the registry.
    pub fn takes_controller(self) -> bool {
        self.entry().takes_controller
    }
}

/// Description of a protocol, for lists, errors and the reference.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolEntry {
    /// The name in scenarios.
    pub name: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// The standard that defines it.
    pub source: &'static str,
    /// Confidence that it is the protocol of its source.
    pub status: Status,
    /// True if the kernel backend has it.
    pub on_kernel: bool,
    /// True if flows have a congestion controller of the registry. XTP has no congestion control,
    /// and SCTP its own.
    pub takes_controller: bool,
    /// True if it delivers a stream of bytes. The others carry the messages of an application, each
    /// in a datagram that may be lost.
    pub has_stream: bool,
    /// True if its packets are segments of TCP, which middleboxes and header compression read.
    pub has_segments_of_tcp: bool,
    /// The table of `transport` with its own settings.
    pub table: Option<&'static str>,
    /// The other keys of `transport` that it takes.
    pub keys: TakenKeys,
}

/// Keys of `transport` that are not the table of a protocol: all of them are settings of TCP.
#[derive(Clone, Copy, Debug)]
pub enum TakenKeys {
    /// All but these.
    AllBut(&'static [&'static str]),
    /// Only these.
    Only(&'static [&'static str]),
}

impl ProtocolEntry {
    /// Returns true if the protocol takes the key `key` of `transport`, which is no table of a
    /// protocol.
    pub fn takes(&self, key: &str) -> bool {
        match self.keys {
            TakenKeys::AllBut(others) => !others.contains(&key),
            TakenKeys::Only(keys) => keys.contains(&key),
        }
    }
}

const TCP: ProtocolEntry = ProtocolEntry {
    name: "tcp",
    summary: "TCP with SACK, timestamps, window scaling and the recovery that the scenario chooses",
    source: "RFC 9293",
    status: Status::Published,
    on_kernel: true,
    takes_controller: true,
    has_stream: true,
    has_segments_of_tcp: true,
    table: None,
    keys: TakenKeys::AllBut(&[]),
};

const QUIC: ProtocolEntry = ProtocolEntry {
    name: "quic",
    summary: "The QUIC of quinn, a library that real servers use, with its own loss recovery and pacing",
    source: "RFC 9000 and RFC 9002",
    status: Status::Implementation("quinn-proto 0.11.19"),
    on_kernel: true,
    takes_controller: true,
    has_stream: true,
    has_segments_of_tcp: false,
    table: Some("quic"),
    keys: TakenKeys::Only(&["careful_resume"]),
};

const STP: ProtocolEntry = ProtocolEntry {
    name: "stp",
    summary: "Satellite Transport Protocol: the sender polls, nothing is acknowledged in between, no timer runs on data",
    source: "Henderson and Katz, WOSBIS 1997; SSCOP, ITU-T Q.2110; XSTP, Elaasar et al.",
    status: Status::Reconstructed,
    on_kernel: false,
    takes_controller: true,
    has_stream: true,
    has_segments_of_tcp: false,
    table: Some("stp"),
    keys: TakenKeys::Only(&[
        "mss",
        "receive_buffer",
        "initial_window",
        "initial_ssthresh",
        "reader_rate",
        "initial_sequence",
    ]),
};

const SCPS_TP: ProtocolEntry = ProtocolEntry {
    name: "scps-tp",
    summary: "TCP whose receiver reports holes (SNACK), with a rate, and with losses that are errors of links",
    source: "CCSDS 714.0-B, and its open reference implementation",
    status: Status::Reconstructed,
    on_kernel: false,
    takes_controller: true,
    has_stream: true,
    has_segments_of_tcp: true,
    table: Some("scps"),
    keys: TakenKeys::AllBut(&[
        "recovery",
        "dupthresh",
        "duplicate_window",
        "recovery_exit",
        "limited_transmit",
        "dsack",
        "eln",
        "pacing",
        "mtu_probing",
        "careful_resume",
        "quick_start",
        "ack_control",
        "receive_offload",
        "sack_compression",
    ]),
};

const XTP: ProtocolEntry = ProtocolEntry {
    name: "xtp",
    summary: "Xpress Transport Protocol: the sender asks for reports and keeps a rate, without congestion control",
    source: "XTP 4.0, read in Wireshark's dissector; one report in each round trip as in SkyX",
    status: Status::Reconstructed,
    on_kernel: false,
    takes_controller: false,
    has_stream: true,
    has_segments_of_tcp: false,
    table: Some("xtp"),
    keys: TakenKeys::Only(&["mss", "receive_buffer", "initial_window", "reader_rate"]),
};

const SCTP: ProtocolEntry = ProtocolEntry {
    name: "sctp",
    summary: "Stream Control Transmission Protocol: messages in streams, with a congestion control of its own",
    source: "RFC 9260",
    status: Status::Published,
    on_kernel: false,
    takes_controller: false,
    has_stream: true,
    has_segments_of_tcp: false,
    table: Some("sctp"),
    keys: TakenKeys::Only(&[
        "mss",
        "receive_buffer",
        "initial_ssthresh",
        "reader_rate",
        "initial_sequence",
    ]),
};

const UDP: ProtocolEntry = ProtocolEntry {
    name: "udp",
    summary: "Datagrams that may be lost, for calls and messages, without congestion control",
    source: "RFC 768",
    status: Status::Published,
    on_kernel: true,
    takes_controller: false,
    has_stream: false,
    has_segments_of_tcp: false,
    table: None,
    keys: TakenKeys::Only(&[]),
};
