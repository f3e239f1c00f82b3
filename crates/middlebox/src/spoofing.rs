//! Spoofing proxy (RFC 3135 sections 3.1.2 and 3.1.3, "local acknowledgements"): a gateway
//! acknowledges data in the receiver's name, keeps copies of it, and repairs what the hop behind it
//! loses.
//!
//! For each direction of a connection whose SYNs have passed:
//!
//! - A segment of new data in order is copied and forwarded, and its ACK is sent at once. So the
//!   sender grows with the round trip to the gateway.
//! - The promise ends at `store` bytes beyond the number that the receiver has acknowledged. The
//!   window of the sender ends there too, or at that of the receiver. So `store` is the window of
//!   the hop behind the gateway.
//! - The receiver's pure ACKs do not pass while a promise is open, unless they report marks: ECE,
//!   and with accurate ECN another count than the last one that passed. One with a larger window is
//!   made when the sender may wait for it.
//! - Copies are retransmitted after `dupacks` duplicate ACKs, after as many SACKed segments behind
//!   one, after a partial ACK, and after srtt + 4 rttvar without an ACK, doubled with each expiry
//!   in a row, 15 of them at most. At most two for each ACK.
//! - A copy is retransmitted with the sender's latest timestamp value, because the receiver
//!   discards older ones (PAWS).
//! - A FIN is acknowledged by the receiver only, and so is all data behind a segment that has not
//!   come. Losses before the gateway are repaired end to end.
//!
//! A segment whose ACK was made is `promised`. It is `kept` when the receiver acknowledges it. With
//! `dies_at` the gateway loses copies and state at this time and forwards packets as a router does.
//! Promised segments that the receiver does not acknowledge until the end are `broken`. A reset
//! breaks promises too.
//!
//! Reconstructed: RFC 3135 describes the idea and gives no rules. ACK numbers, windows and repairs
//! are our choice. Data in segments that also acknowledge passes with the receiver's own window.

mod flow;

use link::{Mechanism, Provenance};
use units::{Bytes, Span, Time};
use wire::tcp::flags;

use self::flow::{Counts, Flow, open};
use crate::device::Device;
use crate::flows::{Flows, Timed};
use crate::header::{Endpoints, Header, Visible, renewed};
use crate::settings::{KEY, KIND};

pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "spoofing-proxy",
    key: KEY,
    kind: KIND,
    source: "Border, Kojo, Griner, Montenegro and Shelby, Performance Enhancing Proxies Intended to Mitigate Link-Related Degradations, RFC 3135, 2001",
    status: Provenance::Reconstructed,
    hurts: "An ACK no longer means that data has arrived: if the gateway dies, the sender does not know what is lost. The hop behind has a fixed window and no congestion control. IPsec and a second route leave it blind.",
};

/// Parameters of the spoofing proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct SpoofingSettings {
    /// The most bytes of a direction of a connection that are acknowledged before the receiver
    /// does: the window of the hop behind the gateway, about its bandwidth-delay product and some
    /// queue.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB")))]
    pub store: Bytes,
    /// Number of the duplicate ACK that retransmits a segment.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub dupacks: u32,
    /// The shortest time after which the local timer expires.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "10s")))]
    pub min_timeout: Span,
    /// Time at which the gateway dies and loses all copies. Default: never.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub dies_at: Option<Span>,
}

impl Default for SpoofingSettings {
    fn default() -> Self {
        Self {
            store: Bytes(128 * 1024),
            dupacks: 3,
            min_timeout: Span::from_millis(200),
            dies_at: None,
        }
    }
}

/// The device.
#[derive(Clone, Debug)]
pub struct Spoofing<P> {
    settings: SpoofingSettings,
    /// By the endpoints of the data.
    flows: Flows<Flow<P>>,
    counts: Counts,
    is_dead: bool,
}

impl<P> Timed for Flow<P> {
    fn timer(&self) -> Time {
        self.expires
    }
}

impl<P> Spoofing<P> {
    pub(crate) fn new(settings: SpoofingSettings) -> Self {
        Self { settings, flows: Flows::default(), counts: Counts::default(), is_dead: false }
    }
}

impl<P: Visible> Spoofing<P> {
    /// Loses all copies once it is time. Only the counting of promises goes on.
    fn maybe_die(&mut self, now: Time) {
        let Some(at) = self.settings.dies_at else { return };
        if self.is_dead || now.since(Time::ZERO) < at {
            return;
        }
        self.is_dead = true;
        self.flows.for_each(|flow| {
            flow.expires = Time::NEVER;
            flow.copies.iter_mut().for_each(|copy| copy.packet = None);
        });
    }

    fn forget(&mut self, endpoints: Endpoints) {
        if let Some(flow) = self.flows.remove(endpoints) {
            self.counts.reset += open(&flow);
        }
    }

    fn on_syn(&mut self, header: &Header) {
        if !header.has(flags::ACK) {
            self.forget(header.endpoints);
            self.forget(header.endpoints.reversed());
        }
        if self.flows.get(header.endpoints).is_some() {
            return;
        }
        let mut flow = Flow::new(header);
        if let Some(mut reverse) = self.flows.get_mut(header.endpoints.reversed()) {
            let both = reverse.own_scale.flatten().zip(header.window_scale);
            reverse.scale = Some(both.map_or(0, |(_, own)| own));
            flow.scale = Some(both.map_or(0, |(other, _)| other));
        }
        self.flows.get_or_insert_with(header.endpoints, || flow);
    }
}

impl<P: Visible> Device<P> for Spoofing<P> {
    fn on_packet(&mut self, now: Time, packet: P, out: &mut Vec<P>) {
        self.maybe_die(now);
        let Some(header) = packet.header() else { return out.push(packet) };
        let (settings, is_dead) = (self.settings, self.is_dead);
        if header.has(flags::RST) {
            self.forget(header.endpoints);
            self.forget(header.endpoints.reversed());
            return out.push(packet);
        }
        if header.has(flags::SYN) {
            if !is_dead {
                self.on_syn(&header);
            }
            return out.push(packet);
        }
        if is_dead {
            if header.has(flags::ACK)
                && let Some(mut flow) = self.flows.get_mut(header.endpoints.reversed())
            {
                flow.on_number(now, &header, &mut self.counts);
            }
            return out.push(packet);
        }
        let mut passing = Some(packet);
        if header.payload > 0
            && !header.has_more
            && let Some(mut flow) = self.flows.get_mut(header.endpoints)
            && flow.scale.is_some()
            && let Some(data) = &passing
        {
            let (ack, is_forwarded) = flow.on_data(now, &header, data, &settings, &mut self.counts);
            out.extend(ack);
            if !is_forwarded {
                passing = None;
            }
        }
        if header.has(flags::ACK)
            && let Some(mut flow) = self.flows.get_mut(header.endpoints.reversed())
            && flow.scale.is_some()
            && let Some(packet) = passing.take()
        {
            passing = flow.on_ack(now, &header, packet, &settings, &mut self.counts, out);
        }
        out.extend(passing);
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<P>) {
        self.maybe_die(now);
        self.flows.on_timers(now, |flow| {
            flow.expiries += 1;
            flow.recover = flow.copies.back().map(|last| last.end);
            if let Some(first) = flow.copies.front_mut()
                && let Some(packet) = &first.packet
            {
                out.push(renewed(packet, flow.timestamp));
                (first.retries, first.sent) = (first.retries + 1, now);
                self.counts.retransmitted += 1;
            }
            flow.restart_timer(now, &self.settings);
        });
    }

    fn next_timer(&self) -> Time {
        self.flows.next_timer()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Counts { promised, kept, reset, retransmitted, suppressed } = self.counts;
        let lost = if self.is_dead { self.flows.values().map(open).sum() } else { 0 };
        vec![
            ("promised", promised),
            ("kept", kept),
            ("broken", reset + lost),
            ("retransmitted", retransmitted),
            ("suppressed", suppressed),
        ]
    }
}

#[cfg(test)]
mod tests;
