//! Explicit congestion notification (RFC 3168) and reports of duplicates (RFC 2883).

use std::sync::{Arc, Mutex};

use congestion::{
    AnyController, Controller, Ecn, Feedback, Needs, Settings, Specification, TcpPolicy, Window,
};
use tcp::{Config, Connection, Flags, Recovery};
use transport::Endpoint;

use crate::wire::{A, B, Fate, MSS, Sent, Wire, config, ms};

fn ecn() -> Config {
    Config { ecn: Ecn::Classic, ..config() }
}

fn has(flag: Flags) -> impl Fn(&Sent) -> bool {
    move |sent| sent.segment.flags.contains(flag)
}

fn cwnd(wire: &Wire) -> u64 {
    wire.ends[A].controller().window().cwnd / MSS
}

/// Section 6.1.1: ECE and CWR in the SYN ask, ECE alone in the SYN-ACK agrees.
#[test]
fn both_ends_have_to_agree_on_notification() {
    let mut wire = Wire::established(&ecn());
    let syns: Vec<_> = wire.log.iter().filter(|sent| sent.is_syn()).collect();
    assert!(has(Flags::ECE)(syns[0]) && has(Flags::CWR)(syns[0]));
    assert!(has(Flags::ECE)(syns[1]) && !has(Flags::CWR)(syns[1]));
    wire.write(A, 5 * MSS);
    assert!(wire.sent(A, Sent::is_data).all(|sent| sent.segment.is_ecn_capable()));

    for (a, b) in [(&ecn(), &config()), (&config(), &ecn())] {
        let mut wire = Wire::between(a, b).open();
        wire.ends[A].write(5 * MSS);
        wire.run();
        assert!(wire.log.iter().all(|sent| !sent.segment.is_ecn_capable()));
    }
}

/// Section 6.1.3: each ACK echoes until the sender says that it has reduced its window.
#[test]
fn the_receiver_echoes_a_mark_until_the_sender_has_answered() {
    let mut wire = Wire::established(&ecn());
    wire =
        wire.scripted(
            |sent| {
                if sent.is_data() && sent.nth == 3 { Fate::Marked } else { Fate::Arrives }
            },
        );
    wire.write(A, 60 * MSS);
    wire.run();
    let answered = wire.times(A, |sent| sent.is_data() && has(Flags::CWR)(sent));
    assert_eq!(answered.len(), 1, "one reduction answers one mark");
    let echoes = wire.times(B, |sent| sent.is_bare_ack() && has(Flags::ECE)(sent));
    assert!(echoes.len() > 1 && echoes.iter().all(|&echo| echo <= answered[0] + 50), "{echoes:?}");
}

/// Section 6.1.2: as after a loss, but nothing is sent again.
#[test]
fn a_mark_halves_the_window_once_in_a_round_trip() {
    let mut wire = Wire::established(&ecn());
    wire =
        wire.scripted(
            |sent| {
                if sent.is_data() && sent.nth <= 10 { Fate::Marked } else { Fate::Arrives }
            },
        );
    wire.write(A, 1000 * MSS);
    wire.run_for(ms(101));
    assert_eq!(cwnd(&wire), 5);
    assert_eq!(wire.ends[A].counters().retransmissions, 0);
}

/// Section 6.1.2: the echo that reduces the window and those that follow it in the same round trip
/// let it grow no further.
#[test]
fn an_echo_of_a_mark_lets_no_window_grow() {
    let mut wire = Wire::established(&ecn());
    wire =
        wire.scripted(
            |sent| {
                if sent.is_data() && sent.nth == 20 { Fate::Marked } else { Fate::Arrives }
            },
        );
    wire.write(A, 1000 * MSS);
    let window = |wire: &Wire| *wire.ends[A].controller().window();
    while window(&wire).in_slow_start() {
        wire.run_for(ms(10));
    }
    let echoes = wire.sent(B, |sent| sent.is_bare_ack() && has(Flags::ECE)(sent)).count();
    assert!(echoes > 2, "{echoes}");
    assert_eq!(window(&wire).cwnd, window(&wire).ssthresh);
    wire.run_for(ms(300));
    assert!(window(&wire).cwnd > window(&wire).ssthresh);
}

/// Sections 6.1.4 and 6.1.5.
#[test]
fn retransmissions_and_bare_acks_are_never_marked() {
    let mut wire = Wire::established(&ecn());
    wire = wire.losing(|sent| sent.is_data() && sent.nth == 4);
    wire.write(A, 40 * MSS);
    wire.run();
    let capable = |sent: &&Sent| sent.segment.is_ecn_capable();
    assert_eq!(wire.sent(B, |_| true).filter(capable).count(), 0);
    let data: Vec<_> = wire.sent(A, Sent::is_data).collect();
    assert_eq!(data.iter().filter(|sent| !sent.segment.is_ecn_capable()).count(), 1);
}

/// A loss has reduced the window; the marks of the same round trip ask for nothing more.
#[test]
fn a_mark_during_recovery_reduces_nothing() {
    let mut wire = Wire::established(&ecn());
    wire = wire.scripted(|sent| match sent.nth {
        3 if sent.is_data() => Fate::Lost,
        4..=8 if sent.is_data() => Fate::Marked,
        _ => Fate::Arrives,
    });
    wire.write(A, 1000 * MSS);
    wire.run_for(ms(301));
    assert!(cwnd(&wire) >= 5, "{}", cwnd(&wire));
}

/// A connection whose first flight has a mark, and where `lossy` a loss too.
fn marked_flight(controller: &str, recovery: Recovery, lossy: bool) -> Wire {
    let config = Config { recovery, ..ecn() };
    let settings = config.controller();
    let ends = [1, 2].map(|initial_sequence| {
        let controller = Specification::named(controller).unwrap().build(&settings);
        Connection::new(Arc::new(config.clone()), controller, initial_sequence)
    });
    let mut wire = Wire::of(ends).open();
    let mut segments = 0;
    wire = wire.scripted(move |sent| {
        let ordinary = sent.is_data() && !sent.segment.is_low_priority();
        segments += u32::from(ordinary);
        match segments {
            3 if ordinary => Fate::Marked,
            7 if ordinary && lossy => Fate::Lost,
            _ => Fate::Arrives,
        }
    });
    wire.write(A, 1000 * MSS);
    wire
}

/// RFC 3168 section 6.1.2: one reduction answers a mark and a loss of one window, whatever the
/// controller and the recovery.
#[test]
fn a_loss_in_the_window_of_a_mark_reduces_nothing_more() {
    for entry in congestion::entries() {
        for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Linux] {
            let [mut marked, mut both] =
                [false, true].map(|lossy| marked_flight(entry.name, recovery, lossy));
            while both.ends[A].counters().fast_recoveries == 0 {
                marked.run_for(ms(10));
                both.run_for(ms(10));
            }
            let ssthresh = |wire: &Wire| wire.ends[A].controller().window().ssthresh;
            let expected = ssthresh(&marked);
            if ["dctcp", "prague"].contains(&entry.name) {
                // Linux, dctcp_state: the loss takes half of what the mark has left.
                assert!((expected / 3..expected).contains(&ssthresh(&both)), "{}", entry.name);
                continue;
            }
            assert_eq!(ssthresh(&both), expected, "{} with {}", entry.name, recovery.name());
        }
    }
}

/// RFC 2883 section 4.1: the duplicate stands in the first block, below what is acknowledged.
#[test]
fn what_arrives_twice_is_reported_once() {
    let mut wire = Wire::established(&Config { dsack: true, ..config() });
    wire = wire.scripted(|sent| {
        if sent.is_data() && sent.nth == 2 { Fate::Twice(ms(30)) } else { Fate::Arrives }
    });
    wire.write(A, 10 * MSS);
    wire.run();
    let reports: Vec<_> =
        wire.sent(B, |sent| sent.segment.sack_blocks > 0).map(|sent| sent.segment).collect();
    assert_eq!(reports.len(), 1);
    let block = reports[0].sack[0];
    assert_eq!(block.end.wrapping_sub(block.start), MSS as u32);
    assert!(reports[0].acknowledgement.wrapping_sub(block.end) < 1 << 31);
}

#[test]
fn without_the_option_nobody_reports_duplicates() {
    let mut wire = Wire::established(&config());
    wire = wire.scripted(|_| Fate::Twice(ms(30)));
    wire.write(A, 10 * MSS);
    wire.run();
    assert_eq!(wire.sent(B, |sent| sent.segment.sack_blocks > 0).count(), 0);
}

/// Standard TCP that notes of each ACK whether the sender is recovering.
#[derive(Clone, Debug)]
struct Noting {
    window: Window,
    needs: Needs,
    noted: Arc<Mutex<Vec<bool>>>,
}

impl Controller for Noting {
    fn window(&self) -> &Window {
        &self.window
    }
    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
    fn needs(&self) -> Needs {
        self.needs
    }
    fn on_feedback(&mut self, feedback: &Feedback) {
        self.noted.lock().unwrap().push(feedback.recovering);
    }
}

impl TcpPolicy for Noting {}

/// Reports of ACKs to the controller while ten segments are acknowledged, of which the first was
/// marked.
fn noted_after_a_mark(recovery: Recovery, own_recovery: bool) -> Vec<bool> {
    let config = Arc::new(Config { recovery, ..ecn() });
    let noted = Arc::<Mutex<Vec<bool>>>::default();
    let settings = Settings {
        mss: config.mss,
        initial_window: 10 * MSS,
        initial_ssthresh: 20 * MSS,
        byte_counting: 1,
    };
    let needs = Needs { feedback: true, own_recovery, ..Needs::default() };
    let noting = Noting { window: Window::new(&settings), needs, noted: noted.clone() };
    let controller = AnyController::External(Box::new(noting));
    let other = Specification::named("newreno").unwrap().build(&settings);
    let ends =
        [Connection::new(config.clone(), controller, 0), Connection::new(config, other, 1_000_000)];
    let mut wire = Wire::of(ends).open().scripted(|sent| {
        if sent.is_data() && sent.nth == 1 { Fate::Marked } else { Fate::Arrives }
    });
    wire.write(A, 10 * MSS);
    wire.run();
    std::mem::take(&mut *noted.lock().unwrap())
}

/// `TCP_CA_CWR`: round-trip times of that time are those of the queue before the reduction.
#[test]
fn in_linux_a_mark_counts_as_a_recovery_until_its_flight_is_acknowledged() {
    let linux = noted_after_a_mark(Recovery::Linux, false);
    assert!(linux.contains(&true), "{linux:?}");
    assert!(!noted_after_a_mark(Recovery::Linux, true).contains(&true), "like BBR");
    assert!(
        !noted_after_a_mark(Recovery::Sack, false).contains(&true),
        "RFC 3168 has no such state"
    );
}
