//! ACK decimation: of the pure ACKs of a connection, it forwards one of `every`. This is one of the
//! policies that RFC 3449 section 5.2.1 leaves open for ACK filters. What the RFC itself calls
//! decimation (section 5.2.2) is a router that drops ACKs from the ends of small queues.
//!
//! The newest ACK that has not passed is held. It passes when `every` ACKs have come, or after
//! `hold`. So the last ACK of a flight is late, and not lost.
//!
//! Only an ACK that says nothing but its number is held: no SACK blocks, no change of the window
//! field, no ECN flags, no other options, and a number above that of the ACK before. Everything
//! else passes at once, with the held ACK before it.
//!
//! Reconstructed: RFC 3449 names the idea and gives no rules. That ACKs are held, what passes, and
//! both defaults are our choice.

use link::{Mechanism, Provenance};
use units::{Span, Time};
use wire::tcp::flags;

use crate::device::Device;
use crate::flows::{Flows, Timed};
use crate::header::{Header, Visible, is_after};
use crate::settings::{KEY, KIND};

pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "ack-decimation",
    key: KEY,
    kind: KIND,
    source: "Balakrishnan, Padmanabhan, Fairhurst and Sooriyabandara, TCP Performance Implications of Network Path Asymmetry, RFC 3449 section 5.2, 2002",
    status: Provenance::Reconstructed,
    hurts: "A sender that counts ACKs grows more slowly, each ACK releases a burst, and the last ACK of a flight is late by `hold`. In slow start there are few ACKs to lose.",
};

/// Parameters of ACK decimation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct AckDecimationSettings {
    /// One of this number of pure ACKs passes.
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 64)))]
    pub every: u32,
    /// The longest time for which an ACK is held.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s")))]
    pub hold: Span,
}

impl Default for AckDecimationSettings {
    fn default() -> Self {
        Self { every: 4, hold: Span::from_millis(50) }
    }
}

/// One direction of a connection.
#[derive(Clone, Debug)]
struct Flow<P> {
    /// The header of the ACK that came last.
    last: Header,
    /// ACKs since the last one that passed.
    count: u32,
    held: Option<(P, Time)>,
}

impl<P> Timed for Flow<P> {
    fn timer(&self) -> Time {
        self.held.as_ref().map_or(Time::NEVER, |(_, until)| *until)
    }
}

/// The device.
#[derive(Clone, Debug)]
pub struct Decimation<P> {
    settings: AckDecimationSettings,
    flows: Flows<Flow<P>>,
    decimated: u64,
}

impl<P> Decimation<P> {
    pub(crate) fn new(settings: AckDecimationSettings) -> Self {
        Self { settings, flows: Flows::default(), decimated: 0 }
    }
}

/// Returns true if an ACK says nothing but a number above that of the ACK before.
fn is_ordinary(header: &Header, last: &Header) -> bool {
    header.is_pure_ack()
        && header.flags == flags::ACK
        && !header.accurate
        && !header.has_more
        && header.sack.as_slice().is_empty()
        && header.window == last.window
        && is_after(header.acknowledgement, last.acknowledgement)
}

impl<P: Visible> Device<P> for Decimation<P> {
    fn on_packet(&mut self, now: Time, packet: P, out: &mut Vec<P>) {
        let Some(header) = packet.header() else { return out.push(packet) };
        let AckDecimationSettings { every, hold } = self.settings;
        let Some(mut flow) = self.flows.get_mut(header.endpoints) else {
            let first = || Flow { last: header, count: 0, held: None };
            self.flows.get_or_insert_with(header.endpoints, first);
            return out.push(packet);
        };
        let is_held = is_ordinary(&header, &flow.last) && flow.count + 1 < every;
        let is_next = is_ordinary(&header, &flow.last);
        flow.last = header;
        if is_next {
            // The number of a later ACK includes that of the held one.
            self.decimated += u64::from(flow.held.is_some());
            let until = flow.held.take().map_or(now + hold, |(_, until)| until);
            if is_held {
                flow.count += 1;
                flow.held = Some((packet, until));
                return;
            }
        }
        out.extend(flow.held.take().map(|(held, _)| held));
        flow.count = 0;
        out.push(packet);
        if header.has(flags::FIN | flags::RST) {
            drop(flow);
            self.flows.remove(header.endpoints);
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<P>) {
        self.flows.on_timers(now, |flow| {
            out.extend(flow.held.take().map(|(held, _)| held));
            flow.count = 0;
        });
    }

    fn next_timer(&self) -> Time {
        self.flows.next_timer()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("decimated", self.decimated)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Plain, ack, at, drive};

    fn device() -> Decimation<Plain> {
        Decimation::new(AckDecimationSettings { every: 4, hold: Span::from_millis(50) })
    }

    #[test]
    fn one_of_four_acks_passes_and_the_last_one_after_the_hold() {
        let acks = (0..11).map(|n| (at(n), ack(1000 * n as u32)));
        let out = drive(&mut device(), acks, at(1000));
        let passed: Vec<_> = out.iter().map(|(time, p)| (*time, p.0.acknowledgement)).collect();
        let expected = [(0, 0), (4, 4000), (8, 8000), (59, 10_000)];
        assert_eq!(passed, expected.map(|(time, number)| (at(time), number)));
    }

    #[test]
    fn what_says_more_than_a_number_passes_at_once_behind_the_held_ack() {
        let window = Plain(Header { window: 9, ..ack(2000).0 });
        let duplicate = ack(1000);
        let data = Plain(Header { payload: 5, ..ack(1000).0 });
        let marked = Plain(Header { flags: flags::ACK | flags::ECE, ..ack(2000).0 });
        for special in [window, duplicate, data, marked] {
            let packets = [(at(0), ack(0)), (at(1), ack(1000)), (at(2), special.clone())];
            let out = drive(&mut device(), packets, at(2));
            let passed: Vec<_> = out.into_iter().map(|(_, packet)| packet).collect();
            assert_eq!(passed, [ack(0), ack(1000), special]);
        }
    }

    #[test]
    fn an_ack_that_the_hold_has_released_begins_a_new_series() {
        let times = [0, 1, 2, 60, 61, 62, 63];
        let acks = (0..).zip(times).map(|(n, time)| (at(time), ack(1000 * n)));
        let mut device = device();
        let out = drive(&mut device, acks, at(1000));
        let passed: Vec<_> = out.iter().map(|(time, p)| (*time, p.0.acknowledgement)).collect();
        assert_eq!(passed, [(at(0), 0), (at(51), 2000), (at(63), 6000)]);
        assert_eq!(device.counts(), [("decimated", 4)]);
    }
}
