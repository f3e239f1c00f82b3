//! Settings of a connection, and quinn's own types made of them.

use std::sync::Arc;

use congestion::Specification;
use quinn_controllers::{Factory, SavedPath};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    AckFrequencyConfig, IdleTimeout, MtuDiscoveryConfig, QlogStream, TransportConfig, VarInt,
};
use units::{Bytes, SizeLimit, Span};

use crate::choice::{Choice, Congestion, Unsuitable};
use crate::clock::{duration, instant};
use crate::logs::Logs;
use crate::meter::{Meter, Metered};
use crate::resumption::Resumption;
use crate::tls;

/// Settings of QUIC. The defaults are quinn's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    serde(default),
    schemars(inline, extend("additionalProperties" = false))
)]
pub struct Settings {
    /// Source of the flow's controller: `"bentpipe"` is the controller of this laboratory, as with
    /// TCP. `"quinn"` is quinn's own controller of that name, `newreno` or `cubic`, without
    /// parameters.
    pub congestion: Congestion,
    /// Bytes of all streams that may be outstanding: the flow-control window of the connection
    /// (`initial_max_data`, RFC 9000 section 4.1).
    pub receive_window: SizeLimit,
    /// Bytes of one stream that may be outstanding (`initial_max_stream_data`, RFC 9000
    /// section 4.1).
    pub stream_receive_window: Bytes,
    /// Bytes that the sender keeps until they are acknowledged.
    pub send_window: Bytes,
    /// Initial congestion window, with which controllers start. quic-go and Google's servers begin
    /// with 32 packets. Default: ten packets, at most 14720 bytes (RFC 9002 section 7.2).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1200B", "x-maximum" = "1GB")))]
    pub initial_window: Option<Bytes>,
    /// Assumed round-trip time before the first sample (RFC 9002 section 6.2.2).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub initial_rtt: Span,
    /// Packets that may arrive without being acknowledged at once (draft-ietf-quic-ack-frequency
    /// section 4). Default: the extension is off, and each second packet is acknowledged (RFC 9000
    /// section 13.2.2).
    pub ack_threshold: Option<u32>,
    /// Longest delay of an ACK that the sender asks for, with `ack_threshold`. Default: the
    /// receiver's own 25 ms.
    pub ack_delay: Option<Span>,
    /// Silence after which a connection ends (RFC 9000 section 10.1).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub idle_timeout: Span,
    /// True if larger packets than 1200 bytes are tried (RFC 9000 section 14.3).
    pub mtu_discovery: bool,
    /// True if clients have a ticket and an address token of an earlier connection, so that the
    /// first packets already have data (0-RTT, RFC 9001 section 4.6).
    pub zero_rtt: bool,
    /// Saved parameters to start with: `transport.careful_resume` of the scenario, which is no key
    /// of this table.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub careful_resume: Option<SavedPath>,
}

impl Default for Settings {
    fn default() -> Self {
        // 12.5 MB/s at a round-trip time of 100 ms.
        let window = 1_250_000;
        Self {
            congestion: Congestion::Bentpipe,
            receive_window: SizeLimit::UNLIMITED,
            stream_receive_window: Bytes(window),
            send_window: Bytes(8 * window),
            initial_window: None,
            initial_rtt: Span::from_millis(333),
            ack_threshold: None,
            ack_delay: None,
            idle_timeout: Span::from_secs(30),
            mtu_discovery: true,
            zero_rtt: false,
            careful_resume: None,
        }
    }
}

impl Settings {
    /// The largest flow-control window (RFC 9000 section 16).
    pub const LARGEST_WINDOW: u64 = (1 << 62) - 1;

    /// Length of a packet with an ACK of one range, without the header of IP, as quinn makes it.
    /// Numbers of another length make it a few bytes shorter or longer.
    pub const ACK: u64 = 44;

    /// The largest UDP payload that quinn tries, and the one that it starts with.
    const PAYLOAD: [u64; 2] = [1452, 1200];

    /// Bytes of a full packet besides payload: UDP 8, short header 11, STREAM frame 9, AEAD tag 16.
    const OVERHEAD: u64 = 44;

    /// Length of a full packet with the header of UDP, once discovery has ended.
    pub fn full_packet(&self) -> u64 {
        let [largest, first] = Self::PAYLOAD;
        let payload = if self.mtu_discovery { largest } else { first };
        payload + u64::from(wire::udp::HEADER)
    }

    /// Payload of a stream in a full packet. Numbers of another length leave a few bytes more or
    /// less.
    pub fn full_payload(&self) -> u32 {
        u32::try_from(self.full_packet() - Self::OVERHEAD).unwrap_or(u32::MAX)
    }

    /// Requests that quinn's server allows at a time (`initial_max_streams_bidi`, RFC 9000
    /// section 18.2).
    pub const OPEN_REQUESTS: u64 = 100;

    /// Bytes that can be in flight on `streams` streams: the smallest of the windows.
    pub fn window(&self, streams: u64) -> u64 {
        let of_streams = self.stream_receive_window.get().saturating_mul(streams);
        of_streams.min(self.receive_window.get()).min(self.send_window.get())
    }

    /// Largest number of bytes of one write. quinn keeps the bytes of a write in its `send_window`
    /// until the last of them is acknowledged, so a write is a small part of that window.
    pub(crate) fn write_size(&self) -> u64 {
        (self.send_window.get() / 16).max(1200)
    }
}

/// How the ends of connections are made.
pub struct Config {
    settings: Settings,
    factory: Arc<dyn ControllerFactory + Send + Sync>,
    resumption: Option<Arc<Resumption>>,
    client: Arc<QuicClientConfig>,
    logs: Logs,
}

impl Config {
    /// With the controller of a scenario. `streams` is the number of streams that have data at the
    /// same time.
    ///
    /// # Errors
    /// When QUIC cannot have the controller.
    pub fn of(
        settings: Settings,
        controller: &Specification,
        streams: u64,
    ) -> Result<Self, Unsuitable> {
        let choice = Choice::of(settings.congestion, controller)?;
        let initial = settings.initial_window.map(Bytes::get);
        Self::with_window(settings, choice, initial, settings.window(streams))
    }

    /// Connections with one stream. `initial_window` in bytes replaces the default of the
    /// controller.
    ///
    /// # Errors
    /// When quinn lacks what the controller needs.
    pub fn new(
        settings: Settings,
        choice: Choice,
        initial_window: Option<u64>,
    ) -> Result<Self, Unsuitable> {
        Self::with_window(settings, choice, initial_window, settings.window(1))
    }

    fn with_window(
        settings: Settings,
        choice: Choice,
        initial_window: Option<u64>,
        advertised: u64,
    ) -> Result<Self, Unsuitable> {
        let factory: Arc<dyn ControllerFactory + Send + Sync> = match choice {
            Choice::Laboratory(specification) => {
                let mut factory = Factory::of(specification)?
                    .epoch(instant(units::Time::ZERO))
                    .advertised_window(advertised);
                if let Some(bytes) = initial_window {
                    factory = factory.initial_window(bytes);
                }
                if let Some(saved) = settings.careful_resume {
                    factory = factory.careful_resume(saved);
                }
                Arc::new(factory)
            }
            Choice::NewReno => {
                let mut config = NewRenoConfig::default();
                if let Some(bytes) = initial_window {
                    config.initial_window(bytes);
                }
                Arc::new(config)
            }
            Choice::Cubic => {
                let mut config = CubicConfig::default();
                if let Some(bytes) = initial_window {
                    config.initial_window(bytes);
                }
                Arc::new(config)
            }
        };
        let mut config = Self {
            settings,
            factory,
            resumption: None,
            client: tls::client(),
            logs: Logs::default(),
        };
        config.remember();
        Ok(config)
    }

    /// The same for ends whose connections are logged.
    #[must_use]
    pub fn logged(&self, logs: &Logs) -> Self {
        let Self { settings, factory, client, .. } = self;
        let client = logs.keys.clone().map_or_else(|| client.clone(), tls::logged_client);
        let (settings, factory, logs) = (*settings, factory.clone(), logs.clone());
        let mut config = Self { settings, factory, resumption: None, client, logs };
        config.remember();
        config
    }

    fn remember(&mut self) {
        let new = || Arc::new(Resumption::new(self.logs.keys.clone()));
        self.resumption = self.settings.zero_rtt.then(new);
    }

    /// TLS settings of clients without 0-RTT.
    pub(crate) fn client(&self) -> Arc<QuicClientConfig> {
        self.client.clone()
    }

    /// The logs.
    pub(crate) fn logs(&self) -> &Logs {
        &self.logs
    }

    /// The same, with the memory of earlier connections of another end.
    #[must_use]
    pub fn that_has_met(self, other: &Self) -> Self {
        Self { resumption: other.resumption.clone(), ..self }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// State that ends keep of earlier connections, for 0-RTT.
    pub(crate) fn resumption(&self) -> Option<&Resumption> {
        self.resumption.as_deref()
    }

    /// quinn's settings of an end with this meter and this trace.
    pub(crate) fn transport(&self, meter: Meter, trace: Option<QlogStream>) -> TransportConfig {
        let Settings {
            congestion: _,
            receive_window,
            stream_receive_window,
            send_window,
            initial_window: _,
            initial_rtt,
            ack_threshold,
            ack_delay,
            idle_timeout,
            mtu_discovery,
            zero_rtt: _,
            careful_resume: _,
        } = self.settings;
        let mut transport = TransportConfig::default();
        transport
            .congestion_controller_factory(Arc::new(Metered { inner: self.factory.clone(), meter }))
            // Each datagram is a packet on the link.
            .enable_segmentation_offload(false)
            .receive_window(variable(receive_window.get()))
            .stream_receive_window(variable(stream_receive_window.get()))
            .send_window(send_window.get())
            .initial_rtt(duration(initial_rtt))
            .mtu_discovery_config(mtu_discovery.then(MtuDiscoveryConfig::default))
            .qlog_stream(trace)
            .max_idle_timeout(Some(IdleTimeout::from(variable(milliseconds(idle_timeout)))));
        if let Some(threshold) = ack_threshold {
            let mut frequency = AckFrequencyConfig::default();
            frequency
                .ack_eliciting_threshold(variable(u64::from(threshold)))
                .max_ack_delay(ack_delay.map(duration));
            transport.ack_frequency_config(Some(frequency));
        }
        transport
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// quinn's integers have 62 bits; what is larger is no limit.
fn variable(number: u64) -> VarInt {
    VarInt::from_u64(number).unwrap_or(VarInt::MAX)
}

const fn milliseconds(span: Span) -> u64 {
    span.as_nanos() / 1_000_000
}
