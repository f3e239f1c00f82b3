//! Data is given up after a number of retransmissions (`best_effort` has the rules and their
//! sources).

use congestion::Sizing;
use transport::{AbortCause, Range};
use units::{SizeLimit, Span, Time};

use crate::config::Config;
use crate::sender::acknowledge::{self, Acknowledgement};
use crate::sender::core::Core;
use crate::sender::measurement::{self, AckedBytes};
use crate::sender::reduction;

use super::best_effort::{BestEffort, Holes};
use super::{Scps, SnackRecovery};

/// Reliability of the delivery.
#[derive(Clone, Debug)]
pub(super) enum Delivery {
    /// All data arrives.
    Reliable,
    /// Data may be given up.
    BestEffort(Box<GivingUp>),
}

/// State of a sender that gives data up.
#[derive(Clone, Debug)]
pub(super) struct GivingUp {
    settings: BestEffort,
    /// Data that was given up.
    given_up: Holes,
    /// Number that the receiver expects, while that is below SND.UNA.
    expected: Option<u64>,
    /// End of the time by which the timer runs longer for the receiver.
    waits_until: Time,
    /// Timeouts since something arrived.
    timeouts: u32,
    send_buffer: SizeLimit,
    user_timeout: Option<Span>,
}

impl Delivery {
    pub(super) fn new(config: &Config, scps: Scps) -> Self {
        let Some(settings) = scps.best_effort else { return Self::Reliable };
        Self::BestEffort(Box::new(GivingUp {
            settings,
            given_up: Holes::default(),
            expected: None,
            waits_until: Time::ZERO,
            timeouts: 0,
            send_buffer: config.send_buffer,
            user_timeout: config.user_timeout,
        }))
    }

    fn best_effort(&self) -> Option<&GivingUp> {
        match self {
            Self::Reliable => None,
            Self::BestEffort(giving_up) => Some(giving_up),
        }
    }

    fn best_effort_mut(&mut self) -> Option<&mut GivingUp> {
        match self {
            Self::Reliable => None,
            Self::BestEffort(giving_up) => Some(giving_up),
        }
    }

    /// Returns true if the receiver expects data that was given up.
    pub(super) fn is_ahead(&self) -> bool {
        self.best_effort().is_some_and(GivingUp::is_ahead)
    }

    /// Cause of the end of a connection whose receiver is behind and has not moved for the user
    /// timeout, which ends at `gives_up_at`.
    pub(super) fn is_given_up_by_user(&self, now: Time, gives_up_at: Time) -> Option<AbortCause> {
        let one = self.best_effort().filter(|one| one.is_ahead())?;
        (one.user_timeout.is_some() && now >= gives_up_at).then_some(AbortCause::UserTimeout)
    }
}

impl GivingUp {
    /// Number of timeouts since something arrived, with one that has just expired.
    pub(super) fn count_timeout(&mut self) -> u32 {
        self.timeouts += 1;
        self.timeouts
    }

    /// Something has arrived.
    pub(super) fn note_arrival(&mut self) {
        self.timeouts = 0;
    }

    fn is_ahead(&self) -> bool {
        self.expected.is_some()
    }

    /// Returns true if nothing is retransmitted.
    pub(super) fn sends_once(&self) -> bool {
        self.settings.retransmissions == 0
    }
}

impl SnackRecovery {
    /// The two ends have not agreed on best-effort transport.
    pub(crate) fn deliver_all(&mut self) {
        self.delivery = Delivery::Reliable;
    }

    /// Data that was given up, if the connection has best-effort transport.
    pub(crate) fn given_up(&self) -> Option<&Holes> {
        self.delivery.best_effort().map(|one| &one.given_up)
    }

    /// Returns true if the receiver expects `number` or data before it, which was given up.
    #[cold]
    pub(crate) fn is_expected(&self, number: u64) -> bool {
        let one = self.delivery.best_effort();
        one.and_then(|one| one.expected).is_some_and(|first| first <= number)
    }

    /// An ACK of SND.UNA or more has been taken in: the receiver is not behind.
    pub(crate) fn meet_receiver(&mut self) {
        if let Some(one) = self.delivery.best_effort_mut() {
            one.expected = None;
        }
    }

    /// An ACK is below SND.UNA, because the receiver still waits for data that was given up.
    #[cold]
    pub(crate) fn on_ack_from_behind(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
    ) {
        let una = core.stream.una;
        let Some(one) = self.delivery.best_effort_mut() else { return };
        // Another one was overtaken.
        let Some(expected) = one.expected.filter(|expected| ack.number >= *expected) else {
            return;
        };
        let progress = ack.number > expected;
        one.expected = Some(ack.number);
        core.renew_quota();
        let edge = ack.number + ack.window;
        if edge > una + core.peer.advertised {
            core.peer.advertise(edge - una);
            core.peer.window_from = core.peer.window_from.max(ack.sequence);
        }
        // Its ACK comes when the receiver has passed the hole.
        core.timed = None;
        if progress {
            core.timers.retries = 0;
            core.timers.begin_user_timeout(now, config);
            run_timer(core, now);
        }
        let ack = Acknowledgement {
            number: una,
            window: core.peer.advertised,
            round_trip: None,
            answers_probe: false,
            ..*ack
        };
        let saw_loss =
            measurement::give_feedback(core, self, now, config, &ack, AckedBytes::new(0, 0, false));
        if ack.marked {
            reduction::on_mark(core, self, now, config, 0);
        }
        acknowledge::finish(core, self, now, config, &ack, false, saw_loss);
        core.scale_window(Sizing::Total, core.peer.advertised);
        if core.timers.persisting {
            core.review_persist(now, config);
        }
    }

    /// The timer has expired. Returns true if it goes on, because the receiver may still wait at a
    /// hole that was given up.
    pub(super) fn waits_for_receiver(&mut self, core: &mut Core, now: Time) -> bool {
        let expired = core.timers.deadline;
        let Some(one) = self.delivery.best_effort_mut() else { return false };
        if !one.is_ahead() || expired == one.waits_until {
            return false;
        }
        core.timers.deadline = now + one.settings.receive_timeout;
        core.timers.bound_by_user_timeout(now);
        one.waits_until = core.timers.deadline;
        true
    }

    /// Gives up what is to be retransmitted and has had its retransmissions, unless the link is
    /// known to be out.
    pub(super) fn give_up_repeated(&mut self, core: &mut Core, now: Time) {
        let limit = core.stream.end().min(core.stream.una + core.peer.advertised);
        // The FIN is a segment too.
        let last = if limit > core.stream.written { 1 } else { core.stream.mss };
        let kept = limit.saturating_sub(last);
        let is_out = self.is_out();
        let Some(one) = self.delivery.best_effort_mut().filter(|_| !is_out) else { return };
        let most = one.settings.retransmissions;
        let mut rests = Vec::new();
        for hole in &mut self.missing.holes {
            if !hole.is_to_begin() || hole.begun < most {
                continue;
            }
            if hole.end >= limit {
                if hole.start >= kept {
                    continue;
                }
                rests.extend(hole.split_at(kept));
            }
            hole.give_up();
            one.given_up.add(Range { start: hole.start, end: hole.end });
        }
        self.missing.insert(rests);
        self.pass_what_is_given_up(core, now);
    }

    /// SND.UNA moves over what was given up.
    fn pass_what_is_given_up(&mut self, core: &mut Core, now: Time) {
        let before = core.stream.una;
        let una = self.missing.end_of_given_up(before);
        let Some(one) = self.delivery.best_effort_mut().filter(|_| una != before) else { return };
        let was_ahead = one.expected.replace(one.expected.unwrap_or(before)).is_some();
        pass_to(core, una, one.send_buffer);
        if !was_ahead {
            core.timers.retransmits_since = now;
            core.timers.gives_up_at = one.user_timeout.map_or(Time::NEVER, |limit| now + limit);
        }
        run_timer(core, now);
    }
}

/// SND.UNA moves to `una` without an acknowledgement.
fn pass_to(core: &mut Core, una: u64, send_buffer: SizeLimit) {
    core.peer.keep_edge(una - core.stream.una);
    core.stream.una = una;
    core.stream.fill_buffer(send_buffer);
    core.scoreboard.acknowledge(una);
    core.forget_records_below(una);
    core.timed = None;
    core.timers.retries = 0;
    core.episode.duplicates = 0;
    core.episode.limited = 0;
}

/// The timer runs if anything is outstanding.
fn run_timer(core: &mut Core, now: Time) {
    if core.stream.flight() > 0 {
        core.restart_timer(now);
    } else if !core.timers.persisting {
        core.timers.stop();
    }
}
