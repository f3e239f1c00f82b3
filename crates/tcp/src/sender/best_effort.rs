//! Data is given up after a number of retransmissions (`crate::best_effort`, which has the rules and their sources).

use congestion::{Sizing, TcpPolicy};
use transport::{AbortCause, Range};
use units::{SizeLimit, Span, Time};

use crate::best_effort::{BestEffort, Holes};
use crate::config::Config;

use super::Sender;
use super::acknowledge::Acknowledgement;

/// State of a sender that gives data up.
#[derive(Clone, Debug)]
pub(super) struct GivingUp {
    settings: BestEffort,
    /// Data that was given up.
    given_up: Holes,
    /// The number that the receiver expects, while that is below SND.UNA.
    expected: Option<u64>,
    /// The timer runs longer for the receiver, until then.
    waits_until: Time,
    /// Timeouts since something arrived.
    timeouts: u32,
    send_buffer: SizeLimit,
    user_timeout: Option<Span>,
}

impl GivingUp {
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        Some(Box::new(Self {
            settings: config.scps?.best_effort?,
            given_up: Holes::default(),
            expected: None,
            waits_until: Time::ZERO,
            timeouts: 0,
            send_buffer: config.send_buffer,
            user_timeout: config.user_timeout,
        }))
    }

    /// Number of timeouts since something arrived, with one that has just expired.
    pub(super) fn count_timeout(&mut self) -> u32 {
        self.timeouts += 1;
        self.timeouts
    }

    /// Something has arrived.
    pub(super) fn hear(&mut self) {
        self.timeouts = 0;
    }

    /// Returns true if the receiver expects data that was given up.
    pub(super) fn is_ahead(&self) -> bool {
        self.expected.is_some()
    }

    /// Returns true if nothing is retransmitted.
    pub(super) fn sends_once(&self) -> bool {
        self.settings.retransmissions == 0
    }
}

impl Sender {
    fn giving_up(&mut self) -> Option<&mut GivingUp> {
        self.instruments.as_mut()?.repair.as_mut()?.best_effort.as_deref_mut()
    }

    fn known_giving_up(&self) -> Option<&GivingUp> {
        self.instruments.as_ref()?.repair.as_ref()?.best_effort.as_deref()
    }

    /// The two ends have not agreed on best-effort transport.
    pub(crate) fn do_without_best_effort(&mut self) {
        if let Some(repair) = self.instruments.as_mut().and_then(|one| one.repair.as_mut()) {
            repair.best_effort = None;
        }
    }

    /// Returns true if the sender may give data up.
    pub(crate) fn is_best_effort(&self) -> bool {
        self.known_giving_up().is_some()
    }

    /// Data that was given up, if the connection has best-effort transport and is not over.
    pub(crate) fn given_up(&self) -> Option<&Holes> {
        self.known_giving_up().map(|one| &one.given_up)
    }

    /// Returns true if the receiver expects data that was given up.
    pub(super) fn is_ahead_of_receiver(&self) -> bool {
        self.known_giving_up().is_some_and(GivingUp::is_ahead)
    }

    /// Returns true if the receiver expects `number` or data before it, which was given up.
    #[cold]
    pub(crate) fn is_expected(&self, number: u64) -> bool {
        self.known_giving_up().and_then(|one| one.expected).is_some_and(|first| first <= number)
    }

    /// An ACK of everything before `number` has been taken in, which is not below SND.UNA.
    pub(crate) fn meet_receiver(&mut self) {
        if let Some(one) = self.giving_up() {
            one.expected = None;
        }
    }

    /// An ACK is below SND.UNA, because the receiver still waits for data that was given up.
    #[cold]
    pub(crate) fn on_ack_from_behind(&mut self, now: Time, config: &Config, ack: &Acknowledgement) {
        let una = self.stream.una;
        let Some(one) = self.giving_up() else { return };
        // Another one was overtaken.
        let Some(expected) = one.expected.filter(|expected| ack.number >= *expected) else {
            return;
        };
        let progress = ack.number > expected;
        one.expected = Some(ack.number);
        self.episode.quota = self.controller.retransmission_quota();
        let edge = ack.number + ack.window;
        if edge > una + self.peer.advertised {
            self.peer.advertise(edge - una);
            self.peer.window_from = self.peer.window_from.max(ack.sequence);
        }
        // Its ACK comes when the receiver has passed the hole.
        self.timed = None;
        if progress {
            self.timers.retries = 0;
            self.timers.begin_user_timeout(now, config);
            self.run_timer(now);
        }
        let ack =
            Acknowledgement { number: una, window: self.peer.advertised, round_trip: None, ..*ack };
        self.give_feedback(now, config, &ack, 0, 0, false);
        if ack.marked {
            self.on_mark(now, config, 0);
        }
        self.finish_ack(now, config, &ack, false);
        self.peer.usable = self.peer.advertised;
        let state = self.send_state();
        self.peer.usable =
            self.controller.advertised_window(Sizing::Total, self.peer.usable, &state);
        if self.timers.persisting {
            self.review_persist(now, config);
        }
    }

    /// The timer has expired. Whether it goes on, because the receiver may still wait at a hole that was given up.
    pub(super) fn waits_for_receiver(&mut self, now: Time) -> bool {
        let expired = self.timers.deadline;
        let Some(one) = self.giving_up() else { return false };
        if !one.is_ahead() || expired == one.waits_until {
            return false;
        }
        self.timers.deadline = now + one.settings.receive_timeout;
        self.timers.bound_by_user_timeout(now);
        let until = self.timers.deadline;
        if let Some(one) = self.giving_up() {
            one.waits_until = until;
        }
        true
    }

    /// Why the connection ends with a timeout while the receiver is behind: nothing has moved it for the user timeout.
    pub(super) fn is_given_up_by_user(&self, now: Time) -> Option<AbortCause> {
        let one = self.known_giving_up().filter(|one| one.is_ahead())?;
        (one.user_timeout.is_some() && now >= self.timers.gives_up_at)
            .then_some(AbortCause::UserTimeout)
    }

    /// Gives up what is to be retransmitted and has had its retransmissions, unless the link is known to be out.
    pub(super) fn give_up_repeated(&mut self, now: Time) {
        let limit = self.stream.end().min(self.stream.una + self.peer.advertised);
        // The FIN is a segment too.
        let last = if limit > self.stream.written { 1 } else { self.stream.mss };
        let kept = limit.saturating_sub(last);
        let Some(repair) = self.instruments.as_mut().and_then(|one| one.repair.as_mut()) else {
            return;
        };
        let is_out = repair.is_out();
        let Some(one) = repair.best_effort.as_mut().filter(|_| !is_out) else { return };
        let most = one.settings.retransmissions;
        let mut rests = Vec::new();
        for hole in &mut repair.missing.holes {
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
        repair.missing.insert(rests);
        self.pass_what_is_given_up(now);
    }

    /// SND.UNA moves over what was given up.
    fn pass_what_is_given_up(&mut self, now: Time) {
        let before = self.stream.una;
        let Some(repair) = self.instruments.as_mut().and_then(|one| one.repair.as_mut()) else {
            return;
        };
        let una = repair.missing.end_of_given_up(before);
        let Some(one) = &mut repair.best_effort else { return };
        if una == before {
            return;
        }
        let was_ahead = one.expected.replace(one.expected.unwrap_or(before)).is_some();
        let (send_buffer, user_timeout) = (one.send_buffer, one.user_timeout);
        self.stream.una = una;
        self.stream.fill_buffer(send_buffer);
        // The right edge of the window stays.
        self.peer.keep_edge(una - before);
        self.scoreboard.acknowledge(una);
        if let Some(instruments) = &mut self.instruments {
            instruments.forget_records(una);
        }
        self.timed = None;
        self.timers.retries = 0;
        self.episode.duplicates = 0;
        self.episode.limited = 0;
        if !was_ahead {
            self.timers.retransmits_since = now;
            self.timers.gives_up_at = user_timeout.map_or(Time::NEVER, |limit| now + limit);
        }
        self.run_timer(now);
    }

    /// The timer runs if anything is outstanding.
    fn run_timer(&mut self, now: Time) {
        if self.stream.flight() > 0 {
            self.restart_timer(now);
        } else if !self.timers.persisting {
            self.timers.stop();
        }
    }
}
