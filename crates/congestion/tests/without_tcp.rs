//! A sender that is not TCP: it knows [`Controller`] and nothing of `TcpPolicy`, as QUIC will.
//!
//! Packets have numbers, each is acknowledged by itself, and a packet is lost when the third behind
//! it has arrived (RFC 9002 section 6.1.1).

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::collections::VecDeque;

use congestion::{
    Ack, Controller, Feedback, Loss, LostSegment, RateSample, Sent, Settings, Specification, Window,
};
use units::{Span, Time};

const MSS: u64 = 1200;
const RTT: Span = Span::from_millis(500);
/// A packet leaves the bottleneck each millisecond: 9.6 Mbit/s.
const PACKET_TIME: Span = Span::from_millis(1);
/// RFC 9002 section 6.1.1, `kPacketThreshold`.
const THRESHOLD: u64 = 3;

fn settings() -> Settings {
    Settings {
        mss: MSS as u32,
        initial_window: 10 * MSS,
        initial_ssthresh: u64::MAX,
        byte_counting: 1,
    }
}

#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    sent_at: Time,
    arrives: bool,
    acked_at: Time,
    delivered: u64,
    in_flight: u64,
}

struct Sender<C> {
    controller: C,
    now: Time,
    next: u64,
    in_flight: VecDeque<Packet>,
    busy_until: Time,
    delivered: u64,
    lost: u64,
    recovery_ends: Option<u64>,
    /// cwnd before and after each reduction.
    reductions: Vec<(u64, u64)>,
}

impl<C: Controller> Sender<C> {
    fn new(mut controller: C) -> Self {
        controller.on_rtt(Time::ZERO + RTT, RTT);
        Self {
            controller,
            now: Time::ZERO + RTT,
            next: 0,
            in_flight: VecDeque::new(),
            busy_until: Time::ZERO,
            delivered: 0,
            lost: 0,
            recovery_ends: None,
            reductions: Vec::new(),
        }
    }

    fn bytes_in_flight(&self) -> u64 {
        self.in_flight.len() as u64 * MSS
    }

    /// Sends `packets` packets; those whose number `loses` names do not arrive.
    fn transfer(&mut self, packets: u64, loses: impl Fn(u64) -> bool) {
        loop {
            while self.next < packets
                && self.bytes_in_flight() + MSS <= self.controller.window().cwnd
            {
                self.send(!loses(self.next));
            }
            let arrived = self.in_flight.iter().position(|packet| packet.arrives);
            let Some(index) = arrived else { break };
            let packet = self.in_flight.remove(index).unwrap();
            self.now = packet.acked_at;
            self.acknowledge(packet);
        }
    }

    fn send(&mut self, arrives: bool) {
        let pipe_before = self.bytes_in_flight();
        let sent = (self.next + 1) * MSS;
        let event = Sent { now: self.now, bytes: MSS, again: false, sent, pipe_before };
        self.controller.on_sent(&event);
        self.busy_until = self.busy_until.max(self.now) + PACKET_TIME;
        self.in_flight.push_back(Packet {
            number: self.next,
            sent_at: self.now,
            arrives,
            acked_at: self.busy_until + RTT,
            delivered: self.delivered,
            in_flight: pipe_before + MSS,
        });
        self.next += 1;
    }

    fn acknowledge(&mut self, packet: Packet) {
        self.delivered += MSS;
        let found = self.find_losses(packet.number);
        let round_trip = self.now.since(packet.sent_at);
        self.controller.on_rtt(self.now, round_trip);
        let delivered = self.delivered - packet.delivered;
        self.controller.on_feedback(&Feedback {
            now: self.now,
            acked: MSS,
            sacked: 0,
            duplicate: false,
            recovering: self.recovery_ends.is_some(),
            round_trip: Some(round_trip),
            srtt: Some(RTT),
            min_rtt: Some(RTT),
            acknowledged: packet.number * MSS,
            sent: self.next * MSS,
            pipe: self.bytes_in_flight(),
            advertised: u64::MAX,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: self.in_flight.front().map(|packet| packet.sent_at),
            rate: Some(RateSample {
                rate: Some(delivered as f64 / round_trip.as_secs_f64()),
                delivered: self.delivered,
                prior_delivered: packet.delivered,
                lost: 0,
                in_flight_when_sent: packet.in_flight,
                app_limited: false,
            }),
        });
        if self.recovery_ends.is_some_and(|end| packet.number >= end) {
            self.recovery_ends = None;
            self.controller.on_recovery_exit(self.now);
        }
        if found && self.recovery_ends.is_none() {
            self.recovery_ends = Some(self.next);
            let before = self.controller.window().cwnd;
            let flight = self.bytes_in_flight();
            self.controller.on_loss(&Loss { now: self.now, flight, repeated: false });
            self.reductions.push((before, self.controller.window().cwnd));
        } else if self.recovery_ends.is_none() {
            self.controller.on_ack(&Ack {
                now: self.now,
                acked: MSS,
                flight: self.bytes_in_flight(),
                advertised: u64::MAX,
                srtt: Some(RTT),
                min_rtt: Some(RTT),
                cwnd_limited: true,
            });
        }
    }

    fn find_losses(&mut self, acknowledged: u64) -> bool {
        let lost_before = self.lost;
        let lost = |p: &Packet| !p.arrives && p.number + THRESHOLD <= acknowledged;
        while let Some(packet) = self.in_flight.front().copied().filter(lost) {
            self.in_flight.pop_front();
            self.lost += MSS;
            self.controller.on_segment_lost(&LostSegment {
                now: self.now,
                sent_at: packet.sent_at,
                bytes: MSS,
                in_flight_when_sent: packet.in_flight,
                lost_since_sent: MSS,
                app_limited: false,
            });
        }
        self.lost > lost_before
    }
}

/// RFC 5681 by the defaults of the trait. It has no `TcpPolicy`, and needs none.
struct Plain(Window);

impl Controller for Plain {
    fn window(&self) -> &Window {
        &self.0
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.0
    }
}

#[test]
fn a_controller_without_decisions_for_tcp_runs_a_transfer() {
    let mut sender = Sender::new(Plain(Window::new(&settings())));
    sender.transfer(2000, |number| number == 100);
    assert_eq!((sender.delivered, sender.lost), (1999 * MSS, MSS));
    // 10 packets doubled until the loss of number 100 is found, then half of the flight.
    let [(before, after)] = sender.reductions[..] else { panic!("one loss, one reduction") };
    assert!(before >= 80 * MSS && after <= before / 2 + MSS, "{before} to {after}");
    assert!(sender.controller.0.cwnd > after, "congestion avoidance follows");
}

/// Those that keep nine tenths of their window or more, each as its source has it: the window is a
/// product of the scenario (`ck-stp`); a loss without a warning of routers is an error of the
/// channel (Jersey); a model of the path bounds the window, by its rate or its delay (the others).
const KEEP_THEIR_WINDOW: [&str; 11] = [
    "allegro",
    "bbr",
    "bbr3",
    "ck-stp",
    "copa",
    "copa2",
    "jersey",
    "leocc",
    "leocc-live",
    "new-jersey",
    "vivace",
];

#[test]
fn every_controller_of_the_registry_runs_without_tcp() {
    let mut kept = Vec::new();
    for entry in congestion::entries() {
        let controller = Specification::named(entry.name).unwrap().build(&settings());
        let mut sender = Sender::new(controller);
        sender.transfer(3000, |number| number == 300);
        assert_eq!((sender.delivered, sender.lost), (2999 * MSS, MSS), "{}", entry.name);
        let [(before, after)] = sender.reductions[..] else { panic!("{}", entry.name) };
        if after >= before * 9 / 10 {
            kept.push(entry.name);
        }
    }
    kept.sort_unstable();
    assert_eq!(kept, KEEP_THEIR_WINDOW);
}
