//! The settings of a transport protocol, and what is computed of them before a run.

use std::sync::Arc;

use congestion::{Ecn, Specification, Status};
use quic::Congestion;
use tcp::{Recovery, Scps};
use transport::{Protocol, SavedPath};
use units::{Bytes, Rate, SizeLimit, Span};

use crate::resolve::UNSCALED_WINDOW;

/// Lengths of the packets of an end in bytes, without the header of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Of most packets that are full of data.
    pub full: u64,
    /// Of the longest.
    pub longest: u64,
    /// Of an acknowledgement without data and without gaps, as a connection with one-way data sends
    /// it.
    pub ack: u64,
}

/// The only limit of a sender without congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Uncontrolled {
    /// A rate of the settings.
    Rate(Rate),
    /// The window of the receiver.
    Window,
}

/// A timer of a protocol that starts with a packet and ends with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Name of the key.
    pub key: &'static str,
    /// Its time.
    pub time: Span,
    /// The effect of a time below the RTT.
    pub effect: &'static str,
}

/// Figures that follow from the settings of a protocol before a run. Each protocol implements it
/// next to its resolution.
pub trait Plan {
    /// Lengths of its packets.
    fn lengths(&self) -> Lengths;

    /// Maximum segment size in bytes, with options that take its room.
    fn mss(&self) -> u32;

    /// Payload of a full packet in bytes.
    fn full_payload(&self) -> u32 {
        self.mss()
    }

    /// Bytes that can be in flight on `streams` streams of one connection.
    fn window(&self, streams: u64) -> u64;

    /// Full packets after which the receiver sends an ACK.
    fn packets_per_ack(&self) -> u32;

    /// Full packets for each ACK if they arrive every `packet_time` seconds.
    fn packets_per_ack_at(&self, packet_time: f64) -> f64 {
        let _ = packet_time;
        self.packets_per_ack().into()
    }

    /// Minimum time between two ACKs of data in order, if there is one.
    fn time_between_acks(&self) -> Option<Span> {
        None
    }

    /// Lower bound of the retransmission timeout; `None` if no timer of a setting repeats data.
    fn least_timeout(&self) -> Option<Span> {
        None
    }

    /// Returns true if the receiver decides when it sends an ACK. The receivers of other protocols
    /// have none, or send reports that the sender requests.
    fn receiver_sends_acks(&self) -> bool {
        true
    }

    /// The limit of a sender without congestion control; `None` for others.
    fn uncontrolled(&self) -> Option<Uncontrolled> {
        None
    }

    /// Timers that need to be longer than a round trip, the worst effect first.
    fn timers(&self) -> Vec<Timer> {
        Vec::new()
    }

    /// Returns true if connections have streams for requests and answers.
    fn has_streams(&self) -> bool {
        false
    }

    /// The saved path that connections resume, if there is one.
    fn careful_resume(&self) -> Option<SavedPath> {
        None
    }

    /// Settings of a controller whose needs are looked up. Protocols that make their controllers
    /// themselves have the usual ones.
    fn controller(&self) -> congestion::Settings {
        let mss = self.full_payload();
        congestion::Settings {
            mss,
            initial_window: 10 * u64::from(mss),
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        }
    }
}

/// Declares the protocols that have settings of their own, in one variant each.
macro_rules! transports {
    ($($(#[$doc:meta])* $variant:ident($settings:ty),)+) => {
        /// Settings of a transport protocol, shared by the flows of one entry.
        #[derive(Clone, Debug)]
        pub enum Transport {
            $($(#[$doc])* $variant(Arc<$settings>),)+
        }

        impl Transport {
            /// Figures that follow from the settings.
            pub fn plan(&self) -> &dyn Plan {
                match self {
                    $(Self::$variant(settings) => &**settings,)+
                }
            }

            /// Returns true if both are the settings of one entry, and not only equal.
            pub fn is_shared_with(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$variant(a), Self::$variant(b)) => Arc::ptr_eq(a, b),)+
                    _ => false,
                }
            }
        }

        impl PartialEq for Transport {
            fn eq(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$variant(a), Self::$variant(b)) => Arc::ptr_eq(a, b) || a == b,)+
                    _ => false,
                }
            }
        }
    };
}

transports! {
    /// TCP, and SCPS-TP, which is a form of it.
    Tcp(tcp::Config),
    /// QUIC.
    Quic(quic::Settings),
    /// STP.
    Stp(stp::Config),
    /// XTP.
    Xtp(xtp::Config),
    /// SCTP.
    Sctp(sctp::Config),
    /// UDP.
    Udp(udp::Config),
}

impl Transport {
    /// The protocol.
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Tcp(config) if config.scps.is_some() => Protocol::ScpsTp,
            Self::Tcp(_) => Protocol::Tcp,
            Self::Quic(_) => Protocol::Quic,
            Self::Stp(_) => Protocol::Stp,
            Self::Xtp(_) => Protocol::Xtp,
            Self::Sctp(_) => Protocol::Sctp,
            Self::Udp(_) => Protocol::Udp,
        }
    }

    /// The settings of TCP or SCPS-TP; `None` for another protocol.
    pub fn tcp(&self) -> Option<&Arc<tcp::Config>> {
        if let Self::Tcp(config) = self { Some(config) } else { None }
    }

    /// Returns true for TCP and SCPS-TP.
    pub fn is_tcp(&self) -> bool {
        self.tcp().is_some()
    }

    /// The settings that only SCPS-TP has.
    pub fn scps(&self) -> Option<Scps> {
        self.tcp()?.scps
    }

    /// ECN that the settings request. Protocols without such a key have what their controllers
    /// need.
    pub fn ecn(&self) -> Ecn {
        let ecn = self.tcp().map_or(Ecn::Off, |config| config.ecn);
        if ecn == Ecn::Passive { Ecn::Off } else { ecn }
    }

    /// Name of the loss recovery; empty for protocols whose recovery is not a setting.
    pub fn recovery(&self) -> &'static str {
        self.tcp().map_or("", |config| config.recovery.name())
    }

    /// These settings of a sender as its data sees them: with the window and the ACKs of its
    /// receiver, and the options that both have. ECN is that of [`opened_by`](Self::opened_by).
    #[must_use]
    pub fn towards(&self, receiver: &Self) -> Self {
        match (self, receiver) {
            (Self::Tcp(sender), Self::Tcp(receiver)) => {
                Self::Tcp(Arc::new(in_force(sender, receiver)))
            }
            // Between gateways a connection has one stream.
            (Self::Quic(sender), Self::Quic(receiver)) => {
                let of_stream = receiver.stream_receive_window;
                let window = of_stream.get().min(receiver.receive_window.get());
                Self::Quic(Arc::new(quic::Settings {
                    stream_receive_window: of_stream,
                    receive_window: SizeLimit::of(Bytes(window)),
                    ..**sender
                }))
            }
            _ => self.clone(),
        }
    }

    /// These settings with the ECN of a connection that `opener` opens to `listener`.
    #[must_use]
    pub fn opened_by(&self, opener: &Self, listener: &Self) -> Self {
        match (self, opener, listener) {
            (Self::Tcp(config), Self::Tcp(opener), Self::Tcp(listener)) => {
                let ecn = Ecn::agreed(opener.ecn, listener.ecn);
                Self::Tcp(Arc::new(tcp::Config { ecn, ..(**config).clone() }))
            }
            _ => self.clone(),
        }
    }

    /// Returns true if the controller of the end is one of quinn's own.
    pub fn has_quinns_controller(&self) -> bool {
        matches!(self, Self::Quic(settings) if settings.congestion == Congestion::Quinn)
    }

    /// Confidence that the controller of the end is that of its source.
    pub fn controller_status(&self, controller: &Specification) -> Status {
        match self {
            Self::Quic(_) if self.has_quinns_controller() => Protocol::Quic.entry().status,
            Self::Sctp(_) => Protocol::Sctp.entry().status,
            Self::Xtp(_) => Protocol::Xtp.entry().status,
            Self::Udp(_) => Protocol::Udp.entry().status,
            Self::Tcp(_) | Self::Quic(_) | Self::Stp(_) => controller.entry().status,
        }
    }
}

/// Settings of a connection with this sender and this receiver of the data.
fn in_force(sender: &tcp::Config, receiver: &tcp::Config) -> tcp::Config {
    let window_scaling = sender.window_scaling && receiver.window_scaling;
    let largest = if window_scaling { u64::MAX } else { UNSCALED_WINDOW };
    let is_cut = receiver.receive_buffer.get() > largest;
    tcp::Config {
        // A sender without the reports that it needs (RFC 2018 section 2).
        recovery: match sender.lacks_sack(receiver) {
            true => Recovery::NewReno,
            false => sender.recovery,
        },
        receive_buffer: receiver.receive_buffer.min(Bytes(largest)),
        receive_tuning: receiver.receive_tuning.filter(|_| !is_cut),
        delayed_ack: receiver.delayed_ack,
        receive_offload: receiver.receive_offload,
        sack_compression: receiver.sack_compression.filter(|_| sender.recovery.has_sack()),
        window_scaling,
        timestamps: sender.timestamps && receiver.timestamps,
        ecn: sender.ecn.min(receiver.ecn),
        ..sender.clone()
    }
}

impl Plan for tcp::Config {
    fn lengths(&self) -> Lengths {
        let header = u64::from(wire::tcp::HEADER);
        let full = u64::from(self.mss) + header;
        Lengths { full, longest: full, ack: header + u64::from(self.timestamps_bytes()) }
    }

    fn mss(&self) -> u32 {
        self.mss
    }

    fn full_payload(&self) -> u32 {
        self.full_payload()
    }

    fn window(&self, _streams: u64) -> u64 {
        self.receive_buffer.get().min(self.send_buffer.get())
    }

    fn packets_per_ack(&self) -> u32 {
        self.delayed_ack.segments()
    }

    fn packets_per_ack_at(&self, packet_time: f64) -> f64 {
        self.segments_per_ack(packet_time)
    }

    fn time_between_acks(&self) -> Option<Span> {
        self.time_between_acks()
    }

    fn least_timeout(&self) -> Option<Span> {
        Some(self.rto.min)
    }

    fn careful_resume(&self) -> Option<SavedPath> {
        self.careful_resume
    }

    fn controller(&self) -> congestion::Settings {
        self.controller()
    }
}
