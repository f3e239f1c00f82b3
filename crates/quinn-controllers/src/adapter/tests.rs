//! The events that each controller gets out of quinn's calls.

use std::time::Duration;

use congestion::entries;
use transport::{ResumePhase, SavedPath};
use units::{Bytes, SizeLimit, Span};

use super::*;
use crate::driver::PACED_DATAGRAMS;

const MTU: u64 = 1200;
const ROUND_TRIP: Duration = Duration::from_millis(600);
/// It sets its window to a constant with each ACK.
const FIXED: &str = "ck-stp";
/// Controllers that do not jump: the window of the last two, twice what 512 KiB/s send in a round
/// trip, is larger than half of the saved one.
const NO_JUMP: [&str; 3] = [FIXED, "allegro", "vivace"];

/// quinn's calls for a sender on a path of 600 ms, window by window.
struct Path {
    adapter: Adapter,
    now: Instant,
}

impl Path {
    fn of(factory: Factory) -> Self {
        #[expect(clippy::disallowed_methods, reason = "an instant has no other constructor")]
        let now = Instant::now();
        let adapter = Arc::new(factory).adapter(now, 1200);
        Self { adapter, now }
    }

    fn named(name: &str) -> Self {
        Self::of(Factory::named(name).unwrap())
    }

    /// Sends a window over half a round-trip time. Returns when each packet was sent.
    fn send(&mut self) -> Vec<Instant> {
        let packets = self.window() / MTU;
        let apart = ROUND_TRIP / 2 / u32::try_from(packets).unwrap();
        let mut sent = Vec::new();
        for number in 0..packets {
            self.adapter.on_sent(self.now, MTU, number);
            sent.push(self.now);
            self.now += apart;
        }
        sent
    }

    /// Acknowledges these packets two by two, at the pace at which they were sent.
    fn acknowledge(&mut self, sent: &[Instant]) {
        for pair in sent.chunks(2) {
            self.now = self.now.max(*pair.last().unwrap() + ROUND_TRIP);
            let now = self.adapter.time(self.now);
            for &sent in pair {
                let sent = self.adapter.time(sent);
                self.adapter.driver.on_ack(now, sent, MTU);
            }
            let in_flight = self.adapter.driver.flight.outstanding();
            self.adapter.on_end_acks(self.now, in_flight, false, None);
        }
    }

    fn round(&mut self) {
        let sent = self.send();
        self.acknowledge(&sent);
    }

    /// A window whose first packet is lost, as quinn reports it after the third of the others.
    fn round_with_loss(&mut self) {
        let sent = self.send();
        let (early, late) = sent[1..].split_at(3);
        self.acknowledge(early);
        self.adapter.on_congestion_event(self.now, sent[0], false, MTU);
        self.acknowledge(late);
    }

    /// The window of the controller, without the byte that quinn's comparison needs.
    fn window(&self) -> u64 {
        self.adapter.window() - 1
    }
}

fn carried() -> impl Iterator<Item = (&'static str, Factory)> {
    entries().filter_map(|entry| Some((entry.name, Factory::named(entry.name).ok()?)))
}

#[test]
fn every_controller_grows_without_losses_and_never_blocks_the_sender() {
    for (name, factory) in carried() {
        let mut path = Path::of(factory);
        let first = path.window();
        (0..8).for_each(|_| path.round());
        let grown = path.window();
        assert!(grown > first || name == FIXED, "{name}: {first} to {grown}");
        path.round_with_loss();
        path.round();
        assert!(path.window() >= 2 * MTU, "{name}");
        // RFC 9002 section 7.6.2: what is left is the minimum window.
        let sent = path.send();
        path.now += ROUND_TRIP * 9;
        path.acknowledge(&sent[sent.len() - 1..]);
        let lost = (sent.len() as u64 - 1) * MTU;
        path.adapter.on_congestion_event(path.now, sent[sent.len() - 2], true, lost);
        assert!(path.window() >= 2 * MTU, "{name}");
        assert_eq!(path.adapter.driver.flight.outstanding(), 0, "{name}");
        path.round();
    }
}

#[test]
fn the_window_of_new_reno_is_that_of_rfc_9002() {
    let mut path = Path::named("newreno");
    assert_eq!(path.window(), 12_000, "section 7.2: ten datagrams");
    path.round();
    assert_eq!(path.window(), 24_000, "section 7.3.1: by the bytes acknowledged");
    path.round();
    let before = path.window();
    assert_eq!(before, 48_000);
    path.round_with_loss();
    // Section 7.3.2: half of what is in flight, once for all losses of a window. Without the three
    // packets that were acknowledged before the loss was found.
    let reduced = (before - 3 * MTU) / 2;
    assert_eq!(path.window(), reduced);
    path.round();
    // Section 7.3.3: one datagram in a round trip, less what the ACK that ends recovery covers.
    let grown = path.window() - reduced;
    assert!((MTU * 3 / 4..=MTU).contains(&grown), "{grown}");
}

#[test]
fn losses_of_one_window_are_one_event_and_those_of_the_next_another() {
    let mut path = Path::named("newreno");
    (0..3).for_each(|_| path.round());
    let sent = path.send();
    path.acknowledge(&sent[3..6]);
    path.adapter.on_congestion_event(path.now, sent[2], false, 3 * MTU);
    let reduced = path.window();
    path.acknowledge(&sent[7..10]);
    path.adapter.on_congestion_event(path.now, sent[6], false, MTU);
    assert_eq!(path.window(), reduced, "sent before the reduction");
    path.acknowledge(&sent[10..]);
    path.round_with_loss();
    assert!(path.window() < reduced, "{} of {reduced}", path.window());
}

#[test]
fn a_mark_reduces_the_window_once_in_a_round_trip() {
    let mut path = Path::named("newreno");
    (0..3).for_each(|_| path.round());
    let before = path.window();
    let sent = path.send();
    path.acknowledge(&sent[..2]);
    path.adapter.on_congestion_event(path.now, sent[1], false, 0);
    let reduced = path.window();
    assert!(reduced < before, "{reduced} of {before}");
    path.adapter.on_congestion_event(path.now, sent[3], false, 0);
    assert_eq!(path.window(), reduced);
    path.adapter.on_congestion_event(path.now, sent[5], false, MTU);
    assert_eq!(path.window(), reduced, "RFC 3168 section 6.1.2: one reduction answers both");
}

/// The sample of the delivery rate reaches BBR: 1200 bytes each 5 ms are 240 kB/s.
#[test]
fn rate_samples_follow_from_the_instants_of_transmission() {
    let mut path = Path::named("bbr");
    let mut waiting = std::collections::VecDeque::new();
    // Nine seconds: before the first look for a smaller round-trip time.
    for number in 0..1_800u64 {
        path.now += Duration::from_millis(5);
        path.adapter.on_sent(path.now, MTU, number);
        waiting.push_back(path.now);
        let now = path.adapter.time(path.now);
        while waiting.front().is_some_and(|&sent| sent + ROUND_TRIP <= path.now) {
            let sent = path.adapter.time(waiting.pop_front().unwrap());
            path.adapter.driver.on_ack(now, sent, MTU);
        }
        let in_flight = path.adapter.driver.flight.outstanding();
        path.adapter.on_end_acks(path.now, in_flight, false, None);
    }
    let rate = path.adapter.controller().pacing_rate().unwrap();
    // The rate is the gain times 240 kB/s; gains are between 0.75 and 1.25 once the pipe is full.
    assert!((150_000.0..320_000.0).contains(&rate), "{rate}");
    let window = path.adapter.driver.window();
    let full = 0.6 * rate + PACED_DATAGRAMS * MTU as f64;
    assert!((window as f64 - full).abs() <= 0.01 * full, "{window} of {full}");
}

#[test]
fn segmentation_offload_is_several_packets() {
    let mut path = Path::named("bbr3");
    path.adapter.on_sent(path.now, 10 * MTU, 9);
    let sent = path.adapter.time(path.now);
    let now = sent + Span::from_millis(600);
    (0..10).for_each(|_| path.adapter.driver.on_ack(now, sent, MTU));
    assert_eq!(path.adapter.driver.flight.outstanding(), 0);
    assert_eq!(path.adapter.driver.batch.bytes, 10 * MTU);
}

/// A controller that resumes a window of 300 packets.
fn resumed(factory: Factory) -> Path {
    Path::of(factory.careful_resume(SavedPath {
        saved_cwnd: Bytes(300 * MTU),
        saved_rtt: Span::from_millis(600),
        max_jump: SizeLimit::UNLIMITED,
    }))
}

fn phase(path: &Path) -> ResumePhase {
    path.adapter.driver.resume.as_ref().unwrap().phase()
}

/// The handshake and a part of the initial window allow no jump. The whole does, to half of the
/// saved window.
#[test]
fn careful_resume_jumps_after_the_initial_window_with_every_controller() {
    for (name, factory) in carried().filter(|(name, _)| !NO_JUMP.contains(name)) {
        let mut path = resumed(factory);
        path.adapter.on_sent(path.now, 600, 0);
        let handshake = path.now;
        path.now += ROUND_TRIP;
        path.adapter.driver.on_ack(path.adapter.time(path.now), path.adapter.time(handshake), 600);
        path.adapter.on_end_acks(path.now, 0, false, None);
        assert_eq!(phase(&path), ResumePhase::Reconnaissance, "{name}: the handshake");
        let sent = path.send();
        path.acknowledge(&sent[..8]);
        assert_eq!(phase(&path), ResumePhase::Reconnaissance, "{name}");
        path.acknowledge(&sent[8..]);
        assert_eq!((phase(&path), path.window()), (ResumePhase::Unvalidated, 150 * MTU), "{name}");
        let sent = path.send();
        assert_eq!(phase(&path), ResumePhase::Validating, "{name}: the window is used");
        path.acknowledge(&sent);
        assert_eq!(phase(&path), ResumePhase::Normal, "{name}");
        // NewReno's growth has gone on meanwhile.
        assert!(name != "newreno" || path.window() > 150 * MTU, "{}", path.window());
    }
}

/// RFC 9959's example of a jump to 150 packets, of which the 64th is lost: `PipeSize` is 63 then,
/// and the window half of it. ssthresh is half of what has arrived at the end.
#[test]
fn a_loss_of_the_jump_is_a_retreat_with_every_controller() {
    for (name, factory) in carried().filter(|(name, _)| !NO_JUMP.contains(name)) {
        let mut path = resumed(factory);
        path.round();
        let sent = path.send();
        assert_eq!(sent.len(), 150, "{name}");
        path.acknowledge(&sent[..63]);
        path.acknowledge(&sent[64..67]);
        path.adapter.on_congestion_event(path.now, sent[63], false, MTU);
        assert_eq!(phase(&path), ResumePhase::SafeRetreat, "{name}");
        let most = 63 * MTU / 2;
        assert!(path.window() <= most, "{name}: {}", path.window());
        path.acknowledge(&sent[67..]);
        assert!(path.window() <= most, "{name} grows in the retreat: {}", path.window());
        assert_eq!(phase(&path), ResumePhase::SafeRetreat, "{name}: recovery lasts");
        path.round();
        assert_eq!(phase(&path), ResumePhase::Normal, "{name}");
        path.round();
        assert!(path.window() >= 2 * MTU, "{name}");
        if name == "newreno" {
            let ssthresh = path.adapter.controller().window().ssthresh;
            // 149 arrived, and the two of the ACK that has ended recovery; the three before the
            // loss was found too.
            assert!((73 * MTU..=76 * MTU).contains(&ssthresh), "{ssthresh}");
        }
    }
}

#[test]
fn a_mark_or_persistent_congestion_ends_careful_resume() {
    let mut path = resumed(Factory::named("newreno").unwrap());
    path.round();
    let sent = path.send();
    path.acknowledge(&sent[..20]);
    path.adapter.on_congestion_event(path.now, sent[19], false, 0);
    assert_eq!((phase(&path), path.window()), (ResumePhase::SafeRetreat, 10 * MTU));
    path.adapter.on_congestion_event(path.now, sent[149], true, 130 * MTU);
    assert_eq!(phase(&path), ResumePhase::Normal);
}

/// A copy has the window, and does not jump on what may be another path.
#[test]
fn a_copy_does_not_resume() {
    let mut path = resumed(Factory::named("cubic").unwrap());
    path.round();
    let copy = path.adapter.clone_box().into_any().downcast::<Adapter>().unwrap();
    assert!(copy.driver.resume.is_none());
    assert_eq!(copy.window(), path.adapter.window());
}
