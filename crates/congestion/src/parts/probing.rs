//! Probing of TCP-Peach, TCP-Peach+ and TCP-Cherry: probes of low priority measure the unused
//! capacity of the path. The three differ in the data of their probes.
//!
//! - Start: after the first segment one probe each tau = RTT / rwnd, rwnd - 1 in all, which fills
//!   one round trip. Each ACK and each answer adds a segment to cwnd, up to rwnd. After two round
//!   trips congestion avoidance follows.
//! - Recovery, W0 = cwnd at the loss: cwnd = W0 / 2, and W0 probes (adsn) on the ACKs that arrive.
//!   The first W0 / 2 answers (wdsn) only say that the path carries what is sent anyway; each
//!   further one adds a segment. A loss by an error so leaves cwnd at W0, one by congestion at
//!   W0 / 2, as Reno does.
//! - Timeout: one segment, and the start again.
//!
//! Reconstructed: none of the papers could be read, only abstracts and descriptions by others; a
//! Linux version of Peach is known by its abstract alone. Decisions: the start begins with the
//! initial window of the scenario (the papers have one segment); it waits for the first RTT sample
//! when the SYN was lost, with standard slow start until then, and a loss ends it; probes that a
//! recovery has not sent when it ends are not sent; an answer that comes while a recovery lasts
//! raises ssthresh too, which is cwnd after it; a mark (ECN, which no description has) is answered
//! as a loss by congestion, without probes.

use std::marker::PhantomData;

use units::{Span, Time};

use crate::controller::Controller;
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::standard;
use crate::tcp_policy::{Probe, ProbeState, TcpPolicy};
use crate::window::{Settings, Window, whole};

/// Content of the probes of a controller.
pub trait Kind {
    /// Its probes.
    const PROBE: Probe;
}

/// Probes on each ACK during recovery.
pub(crate) const PROBES_PER_ACK: Parameter = Parameter {
    name: "probes_per_ack",
    default: "2",
    allowed: Allowed::Whole(1, 10),
    meaning: "Probes sent on each ACK during recovery, until there were as many as cwnd had \
              segments; reconstructed",
};

/// Answers that do not count.
pub(crate) const IGNORED: Parameter = Parameter {
    name: "ignored",
    default: "0.5",
    allowed: Allowed::Range(0.0, 1.0),
    meaning: "Share of the probes of a recovery whose answers do not raise cwnd; reconstructed",
};

/// The start of a connection, or of what follows a timeout.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// Waits for the first segment, and for a round-trip time.
    Due,
    Running(Train),
    Over,
}

/// Probes at even distances.
#[derive(Clone, Copy, Debug)]
struct Train {
    distance: Span,
    /// When the next probe is due.
    next: Time,
    /// Probes that are still to be sent.
    left: u64,
    /// When the last is answered.
    over: Time,
}

/// A controller that sends probes of one kind.
#[derive(Clone, Debug)]
pub struct Probing<K> {
    window: Window,
    probes_per_ack: u64,
    ignored: f64,
    /// Share of the probes of a recovery whose answers together restore the window that was before.
    restored_at: Option<f64>,
    start: Start,
    /// Between a loss and its repair.
    repairing: bool,
    /// Probes that this recovery may still send (adsn), and those of them that are due now.
    allowed: u64,
    due: u64,
    /// Answers that do not count yet (wdsn).
    to_ignore: u64,
    /// cwnd before the last loss.
    before: u64,
    /// Probes of the last recovery that nobody has answered, and how many of them may miss for cwnd
    /// to be what it was before.
    unanswered: u64,
    may_miss: Option<u64>,
    kind: PhantomData<K>,
}

impl<K: Kind> Probing<K> {
    pub(crate) fn new(settings: &Settings, values: &Values, restored_at: Option<f64>) -> Self {
        Self {
            window: Window::new(settings),
            probes_per_ack: values.whole(PROBES_PER_ACK.name).into(),
            ignored: values.number(IGNORED.name),
            restored_at,
            start: Start::Due,
            repairing: false,
            allowed: 0,
            due: 0,
            to_ignore: 0,
            before: 0,
            unanswered: 0,
            may_miss: None,
            kind: PhantomData,
        }
    }

    /// The first segment has been sent: probes follow, rwnd - 1 of them within the round trip.
    fn begin_train(&mut self, state: &ProbeState) {
        let Some(rtt) = state.srtt else { return };
        let segments = (state.advertised / self.window.mss).max(1);
        let distance = Span::from_nanos((rtt.as_nanos() / segments).max(1));
        self.start = Start::Running(Train {
            distance,
            next: state.now + distance,
            left: segments - 1,
            over: state.now + rtt + rtt,
        });
    }

    /// Returns true if the start still runs. What it has found becomes ssthresh.
    fn is_starting(&mut self, now: Time) -> bool {
        match self.start {
            Start::Running(train) if now < train.over => true,
            Start::Running(_) => {
                self.start = Start::Over;
                self.window.ssthresh = self.window.cwnd;
                false
            }
            Start::Due | Start::Over => false,
        }
    }

    /// A segment that the start has found room for.
    fn add_segment_up_to(&mut self, advertised: u64) {
        let grown = self.window.cwnd + self.window.mss;
        self.window.cwnd = grown.min(advertised).max(self.window.cwnd);
    }

    fn on_recovery_answer(&mut self) {
        if self.to_ignore > 0 {
            self.to_ignore -= 1;
        } else {
            self.window.cwnd += self.window.mss;
            if self.repairing {
                self.window.ssthresh += self.window.mss;
            }
        }
        self.unanswered = self.unanswered.saturating_sub(1);
        if self.may_miss.is_some_and(|may_miss| self.unanswered <= may_miss) {
            self.restore();
        }
    }

    /// The window is again what it was before the loss; the answers that are still to come have
    /// nothing to add.
    fn restore(&mut self) {
        self.may_miss = None;
        self.to_ignore = self.unanswered;
        self.window.cwnd = self.window.cwnd.max(self.before);
        if self.repairing {
            self.window.ssthresh = self.window.ssthresh.max(self.before);
        }
    }

    fn stop_probes(&mut self) {
        self.repairing = false;
        self.allowed = 0;
        self.due = 0;
    }
}

impl<K: Kind> Controller for Probing<K> {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, probes: true, own_recovery: true, ..Needs::default() }
    }

    fn on_feedback(&mut self, _feedback: &Feedback) {
        if self.repairing {
            self.due = (self.due + self.probes_per_ack).min(self.allowed);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.is_starting(ack.now) {
            self.add_segment_up_to(ack.advertised);
        } else {
            self.grow(ack);
        }
    }

    /// Half of W0, the window and not the flight size, at least two segments.
    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.window.half(self.window.cwnd)
    }

    fn on_loss(&mut self, loss: &Loss) {
        let segments = self.window.cwnd / self.window.mss;
        self.start = Start::Over;
        self.repairing = true;
        self.allowed = segments;
        self.due = 0;
        self.to_ignore = whole(segments as f64 * self.ignored);
        self.before = self.window.cwnd;
        self.unanswered = segments;
        self.may_miss =
            self.restored_at.map(|share| segments - whole(libm::ceil(segments as f64 * share)));
        self.window.ssthresh = self.threshold_after_loss(loss);
        self.window.cwnd = self.window.ssthresh;
    }

    /// As after a loss, but a mark is no error: no probes ask whether it was one, and answers that
    /// are still on their way count no more.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        standard::on_congestion_mark(self, loss);
        self.to_ignore = u64::MAX;
        self.may_miss = None;
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.stop_probes();
        standard::on_recovery_exit(self);
    }

    /// One segment, and the start again. What was probed before says nothing any more.
    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.window.ssthresh = self.threshold_after_loss(loss);
        }
        self.window.cwnd = self.window.mss;
        self.stop_probes();
        self.to_ignore = 0;
        self.may_miss = None;
        self.start = Start::Due;
    }
}

impl<K: Kind> TcpPolicy for Probing<K> {
    fn take_probe(&mut self, state: &ProbeState) -> Option<Probe> {
        if let Start::Due = self.start {
            self.begin_train(state);
        }
        if self.due > 0 {
            self.due -= 1;
            self.allowed -= 1;
            return Some(K::PROBE);
        }
        if self.is_starting(state.now)
            && let Start::Running(train) = &mut self.start
            && train.left > 0
            && train.next <= state.now
        {
            train.left -= 1;
            train.next += train.distance;
            return Some(K::PROBE);
        }
        None
    }

    fn probe_deadline(&self) -> Time {
        match self.start {
            Start::Running(train) if train.left > 0 => train.next,
            _ => Time::NEVER,
        }
    }

    fn on_probe_answered(&mut self, state: &ProbeState) {
        if self.is_starting(state.now) {
            self.add_segment_up_to(state.advertised);
        } else {
            self.on_recovery_answer();
        }
    }
}
