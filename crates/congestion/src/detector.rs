//! Detection of path changes by a sender, from what its ACKs show.
//!
//! Two rules:
//! - A gap: more than `above` between two ACKs, the first of which leaves data in the network. It
//!   is the rule of the live version of LeoCC (SpaceNetLab/LeoCC 867e673,
//!   `leocc/live_network/monitor_ping.c`), which pings the gateway each 10 ms and reports a
//!   reconfiguration after more than 45 ms between two answers.
//! - A step: two CUSUM charts, of rises and of falls (E. S. Page, "Continuous inspection schemes",
//!   Biometrika 41, 1954), on the differences between the smallest RTTs of successive windows. The
//!   allowance and the limit are both half of the step that is looked for. So a queue that grows
//!   slowly is no step. It is a reconstruction: no public code of the satellite controllers has it.
//!
//! Decisions:
//! - In LeoCC other packets than those of the connection are looked at. Here a gap is one of the
//!   connection's ACKs, so that nothing but the connection is needed. A window much below the BDP,
//!   an ACK that is delayed, and a pause of the sender after a timeout are gaps too.
//! - A change is known only after it. Both hints about it come at once, as they do from a schedule
//!   that is late, so that controllers that act on either of them have one.
//! - The path is taken to have changed half of the smallest known RTT before the gap began, or
//!   before the window began whose smallest RTT is another one.
//! - For `settle` after a detection there is no other one, and the charts start again.
//! - Windows without a sample do not count. A window ends with the first sample after it.

use std::sync::{Arc, Mutex, PoisonError};

use units::{Span, Time};

use crate::any::AnyController;
use crate::controller::Controller as _;
use crate::events::{Feedback, Needs, PathChange, PathChangeKind};
use crate::parts::around::{Around, Hook};

/// A detector of path changes at a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detector {
    /// The sign of a change.
    pub rule: DetectionRule,
    /// Time for which there is no other detection after one.
    pub settle: Span,
}

/// The sign by which a detector recognises a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetectionRule {
    /// Time without an ACK.
    Gap {
        /// A longer time between two ACKs is a gap.
        above: Span,
    },
    /// A step of the smallest RTT.
    Step {
        /// The step that is looked for.
        size: Span,
        /// Length of the windows whose smallest RTTs are compared.
        window: Span,
    },
}

impl DetectionRule {
    /// The name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gap { .. } => "gap",
            Self::Step { .. } => "step",
        }
    }
}

/// Observation that shows a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A gap between ACKs.
    Gap,
    /// The smallest RTT has risen.
    Rise,
    /// The smallest RTT has fallen.
    Fall,
}

impl Sign {
    /// The name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Rise => "rise",
            Self::Fall => "fall",
        }
    }
}

/// A detected change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detection {
    /// Time of the detection.
    pub now: Time,
    /// Time of the change, as the detector takes it to be.
    pub at: Time,
    /// Observation that shows it.
    pub sign: Sign,
}

/// The detections of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Arrival of its first ACK.
    pub first: Time,
    /// Arrival of its last ACK.
    pub last: Time,
    /// In the order of their times.
    pub detections: Vec<Detection>,
}

/// The detections in all connections of a sender. Copies share them. Connections are in the order
/// of their first ACKs.
#[derive(Clone, Debug, Default)]
pub struct DetectionLog(Arc<Mutex<Vec<Watched>>>);

impl DetectionLog {
    /// Those so far.
    pub fn connections(&self) -> Vec<Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes an ACK of connection number `of`, or of a new one. Returns its number.
    fn note(&self, of: Option<usize>, now: Time, detection: Option<Detection>) -> usize {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = of.unwrap_or(all.len());
        if number == all.len() {
            all.push(Watched { first: now, last: now, detections: Vec::new() });
        }
        all[number].last = now;
        all[number].detections.extend(detection);
        number
    }
}

impl PartialEq for DetectionLog {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The gap between two ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    /// The last ACK, if it has left data in the network.
    last: Option<Time>,
}

impl Gap {
    /// The start of the gap that an ACK ends.
    fn take(&mut self, now: Time, pipe: u64, above: Span) -> Option<Time> {
        let last = self.last.take();
        self.last = (pipe > 0).then_some(now);
        last.filter(|last| now.since(*last) > above)
    }
}

/// The charts of the smallest RTT.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    /// The window that is open: its start and its smallest RTT.
    open: Option<(Time, Span)>,
    /// The smallest RTT of the window before.
    before: Option<Span>,
    /// Sums of the charts of rises and of falls, in seconds.
    rise: f64,
    fall: f64,
}

impl Steps {
    /// Takes in a sample. Returns the sign of a step and the start of the window that has it.
    fn take(&mut self, now: Time, sample: Span, size: Span, window: Span) -> Option<(Sign, Time)> {
        let Some((start, least)) = self.open else {
            self.open = Some((now, sample));
            return None;
        };
        if now.since(start) < window {
            self.open = Some((start, least.min(sample)));
            return None;
        }
        self.open = Some((now, sample));
        let change = least.as_secs_f64() - self.before.replace(least)?.as_secs_f64();
        let half = size.as_secs_f64() / 2.0;
        self.rise = (self.rise + change - half).max(0.0);
        self.fall = (self.fall - change - half).max(0.0);
        let signs = [(self.rise, Sign::Rise), (self.fall, Sign::Fall)];
        signs.into_iter().find(|(sum, _)| *sum >= half).map(|(_, sign)| (sign, start))
    }

    fn start_again(&mut self) {
        (self.rise, self.fall) = (0.0, 0.0);
    }
}

/// A controller whose sender detects changes of its path.
#[derive(Clone, Debug)]
pub(crate) struct Detecting {
    detector: Detector,
    log: DetectionLog,
    /// Its number in the log; `None` before the first ACK.
    number: Option<usize>,
    gap: Gap,
    steps: Steps,
    /// Time until which there is no other detection.
    quiet_until: Time,
    /// Number of detections.
    phase: u64,
}

impl Detecting {
    pub(crate) fn around(
        controller: AnyController,
        detector: Detector,
        log: DetectionLog,
    ) -> AnyController {
        let hook = Self {
            detector,
            log,
            number: None,
            gap: Gap::default(),
            steps: Steps::default(),
            quiet_until: Time::ZERO,
            phase: 0,
        };
        AnyController::External(Box::new(Around::new(controller, hook)))
    }

    /// The change that an ACK shows.
    fn look(&mut self, feedback: &Feedback) -> Option<Detection> {
        let now = feedback.now;
        let (sign, begin) = match self.detector.rule {
            DetectionRule::Gap { above } => (Sign::Gap, self.gap.take(now, feedback.pipe, above)?),
            DetectionRule::Step { size, window } => {
                let step = self.steps.take(now, feedback.round_trip?, size, window);
                if now < self.quiet_until || step.is_some() {
                    self.steps.start_again();
                }
                step?
            }
        };
        if now < self.quiet_until {
            return None;
        }
        self.quiet_until = now + self.detector.settle;
        let way = feedback.min_rtt.map_or(0, |least| least.as_nanos() / 2);
        let at = Time::ZERO + begin.since(Time::ZERO).saturating_sub(Span::from_nanos(way));
        Some(Detection { now, at, sign })
    }
}

impl Hook for Detecting {
    fn needs(&self, inner: Needs) -> Needs {
        inner.or(Needs { feedback: true, ..Needs::default() })
    }

    fn on_feedback(&mut self, inner: &mut AnyController, feedback: &Feedback) {
        let found = self.look(feedback);
        self.number = Some(self.log.note(self.number, feedback.now, found));
        if let Some(Detection { now, at, .. }) = found {
            self.phase += 1;
            for kind in [PathChangeKind::Coming, PathChangeKind::Done] {
                inner.on_path_change(&PathChange { now, kind, at, phase: self.phase });
            }
        }
        inner.on_feedback(feedback);
    }
}

#[cfg(test)]
mod tests;
