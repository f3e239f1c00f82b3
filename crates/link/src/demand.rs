//! Demand assignment (DAMA): a return link whose capacity a network control centre (NCC) assigns to
//! terminals in frames, as DVB-RCS2 does. A model of one terminal.
//!
//! Time is divided into frames of equal length, and each frame into equal slots. The terminal sends
//! only in slots that the NCC has assigned to it. There are three kinds of assigned capacity, by
//! the capacity categories of ETSI EN 301 545-2:
//!
//! - Constant rate (CRA): slots in each frame, without requests.
//! - Volume (VBDC): at the start of each frame the terminal requests slots for the bytes that wait,
//!   apart from slots that it has requested already and those of CRA until the grant. The grant is
//!   in the first frame that starts at least the delay of the control loop later.
//! - Free capacity (FCA): a share of the slots of each frame that the other two leave.
//!
//! [`Terminal`] is a state machine without I/O. The engines of the network take packets out of the
//! queue when it opens a slot.
//!
//! Decisions:
//! - A slot carries whole bytes: the rate of the direction times the length of the slot, rounded
//!   down. Packets are fragmented over slots, as return link encapsulation does (ETSI TS 103 179).
//!   Headers of fragments belong to `overhead`. What waits at the start of a slot shares it. A
//!   packet has left at the end of its last slot, because a burst is decoded as a whole.
//! - The slots of the terminal are the first ones of a frame. The real place is up to the NCC; this
//!   one gives the longest waiting time between two groups of slots.
//! - Requests are neither lost nor queued, and take no rate: they have control slots of their own
//!   in each frame. The NCC grants each request in full as soon as the frames have slots.
//! - Rate-based requests (RBDC) are left out.
//! - Frame, slots, default categories and the share of free capacity are ours: the standard leaves
//!   them to the operator.
//! - A slot that starts in an outage is lost. The channel decides about whole packets at the end of
//!   their last slots.

mod terminal;

use units::{Rate, Span, Time};

use crate::mechanism::{Mechanism, Provenance};

pub use terminal::{Action, Terminal};

const DVB_RCS2: Mechanism = Mechanism {
    name: "dvb-rcs2",
    key: "link.demand",
    kind: "demand assignment",
    source: "ETSI EN 301 545-2 (capacity categories CRA, VBDC and FCA); a model of their principle",
    status: Provenance::Reconstructed,
    hurts: "Sparse traffic and small requests: each packet that finds no assigned slot waits for a frame, the control loop and another frame. Set-up of connections and ACKs of short transfers suffer most.",
};

/// Demand assignment with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "name", rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum Demand {
    /// The principle of DVB-RCS2: frames of slots, assigned as constant rate, on request, or as
    /// free capacity.
    DvbRcs2(DvbRcs2Settings),
}

/// Parameters of demand assignment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct DvbRcs2Settings {
    /// Length of a frame.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "10s")))]
    pub frame: Span,
    /// Slots of a frame. All of them together have the rate of the direction.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 10_000)))]
    pub slots: u32,
    /// Constant-rate assignment (CRA): a rate that needs no requests, at most that of the
    /// direction. Default: none.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub cra: Option<Rate>,
    /// Volume-based requests (VBDC): request slots for bytes that wait.
    pub vbdc: bool,
    /// Free-capacity assignment (FCA): share of the slots without other assignment that the
    /// terminal gets. Other terminals get the rest.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub fca: f64,
    /// Delay of the control loop: time from a request to the earliest start of a frame with its
    /// slots. Default: the propagation delays of both directions of the link, from the terminal to
    /// the NCC and back.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(extend("x-maximum" = "100s")))]
    pub control_delay: Option<Span>,
}

impl Default for DvbRcs2Settings {
    /// Our choice: at 256 kbit/s a slot carries 40 bytes, which is an ACK.
    fn default() -> Self {
        Self {
            frame: Span::from_millis(40),
            slots: 32,
            cra: None,
            vbdc: true,
            fca: 0.0,
            control_delay: None,
        }
    }
}

/// The settings of a direction with demand assignment, with nothing left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemandSettings {
    /// Length of a frame.
    pub frame: Span,
    /// Slots of a frame.
    pub slots: u32,
    /// Rate of CRA in bit/s; zero for none.
    pub cra: u64,
    /// True if slots are requested for bytes that wait.
    pub vbdc: bool,
    /// Share of the free slots in millionths.
    pub fca: u32,
    /// Time from a request to the earliest start of a frame with its slots.
    pub control_delay: Span,
    /// Rate of the direction without changes, for which slots are counted.
    pub rate: Rate,
}

crate::list_of_mechanisms! {
    Demand {
        DvbRcs2 => DVB_RCS2,
    }
}

impl Demand {
    /// The settings on a direction of this `rate`; `loop_delay` is the default of the control
    /// loop's delay.
    pub fn settings(&self, rate: Rate, loop_delay: Span) -> DemandSettings {
        let Self::DvbRcs2(DvbRcs2Settings { frame, slots, cra, vbdc, fca, control_delay }) = *self;
        #[expect(clippy::cast_possible_truncation, reason = "at most a million")]
        let fca = (fca * 1e6).round() as u32;
        DemandSettings {
            frame,
            slots,
            cra: cra.map_or(0, Rate::bits_per_second),
            vbdc,
            fca,
            control_delay: control_delay.unwrap_or(loop_delay),
            rate,
        }
    }
}

impl DemandSettings {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        DVB_RCS2.name
    }

    /// Bytes of a slot at `rate`, overhead of packets included.
    pub fn slot_bytes(&self, rate: Rate) -> u32 {
        let bit_nanos = u128::from(rate.bits_per_second()) * u128::from(self.frame.as_nanos());
        let bytes = bit_nanos / (8_000_000_000 * u128::from(self.slots));
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Slots that packets of `bytes` need.
    pub fn slots_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.slot_bytes(self.rate).max(1)))
    }

    /// Frames from that of a request to that of its slots.
    pub fn loop_frames(&self) -> u64 {
        self.control_delay.as_nanos().div_ceil(self.frame.as_nanos())
    }

    /// Slots of CRA in all frames before number `frame`.
    fn constant_before(&self, frame: u64) -> u64 {
        let slots = u128::from(frame) * u128::from(self.cra) * u128::from(self.slots);
        u64::try_from(slots / u128::from(self.rate.bits_per_second())).unwrap_or(u64::MAX)
    }

    /// Slots of a frame that need no request, on average.
    pub fn unrequested_slots(&self) -> f64 {
        let slots = f64::from(self.slots);
        let constant = self.cra as f64 / self.rate.bits_per_second() as f64 * slots;
        constant + (slots - constant) * f64::from(self.fca) / 1e6
    }

    /// Share of the rate that a lasting load gets: of all slots with requests, and of those that
    /// need none without; what is lost because slots carry whole bytes is left out.
    pub fn share(&self) -> f64 {
        let slots = if self.vbdc { f64::from(self.slots) } else { self.unrequested_slots() };
        let bits = slots * f64::from(self.slot_bytes(self.rate)) * 8.0;
        bits / self.frame.as_secs_f64() / self.rate.bits_per_second() as f64
    }

    /// How long a packet of `bytes` waits and is sent that finds the queue empty, averaged over its
    /// place in a frame: the mean, and the shortest and the longest of these times, in seconds.
    pub fn sparse_delay(&self, bytes: u32) -> [f64; 3] {
        const PLACES: u64 = 500;
        let slots = self.slots_of(bytes.into()) as f64;
        let frame = self.frame.as_secs_f64();
        if !self.vbdc && self.unrequested_slots() < slots {
            // It is spread over frames.
            let frames = slots / self.unrequested_slots();
            return [frames + 0.5, frames, frames + 1.0].map(|frames| frames * frame);
        }
        let places = (0..PLACES).map(|place| {
            // Different frames, because CRA may have slots in some of them only.
            let at = place * self.frame.as_nanos()
                + (2 * place + 1) * self.frame.as_nanos() / (2 * PLACES);
            Terminal::new(*self).alone(Time::from_nanos(at), bytes).as_secs_f64()
        });
        let ends = places
            .clone()
            .fold([f64::MAX, 0.0_f64], |[least, most], delay| [least.min(delay), most.max(delay)]);
        [places.sum::<f64>() / PLACES as f64, ends[0], ends[1]]
    }
}

/// Totals of a direction with demand assignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemandCounters {
    /// Requests sent.
    pub requests: u64,
    /// Slots requested.
    pub requested_slots: u64,
    /// Slots of CRA that carried something.
    pub cra_slots: u64,
    /// Slots granted on request that carried something.
    pub vbdc_slots: u64,
    /// Slots of free capacity that carried something.
    pub fca_slots: u64,
    /// Slots granted on request that passed with nothing to send, or in an outage.
    pub unused_slots: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Sum of the times from the arrival of a packet at the queue to the end of its last slot.
    pub access_delay: Span,
    /// The longest of these times.
    pub max_access_delay: Span,
}
