//! The sender of ARQ: the frames that may have to be repeated.

use std::collections::VecDeque;

use units::Time;

use super::{ArqCounters, ArqSettings, Frame, Repeat, Status};
use crate::queue::{Ecn, Queued};

/// A frame that the far end has not confirmed.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    ticket: u32,
    /// Bytes without framing.
    bytes: u32,
    ecn: Ecn,
    /// Transmissions that are known to be lost.
    failures: u32,
    /// Its last transmission.
    last: u64,
    /// The far end has it, and waits for one before it.
    has_arrived: bool,
    is_given_up: bool,
}

/// A transmission whose fate is not known.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    frame: u64,
    /// When its last bit was sent.
    left: Time,
}

/// The sender.
#[derive(Clone, Debug)]
pub struct Sender {
    settings: ArqSettings,
    /// The oldest frame that is not confirmed.
    base: u64,
    /// The frames from it on.
    frames: VecDeque<Outstanding>,
    /// Go-back-N: the next frame to be repeated; the next new one, if there is none.
    resume: u64,
    /// Selective repeat: frames to be repeated.
    repeats: VecDeque<u64>,
    /// The number of the first of `transmissions`.
    first_transmission: u64,
    transmissions: VecDeque<Transmission>,
    /// When the last status frame came.
    heard: Time,
    /// Frames of the transmissions before this one may have been repeated because of the timer,
    /// although they had arrived.
    settled_from: u64,
    counters: ArqCounters,
}

impl Sender {
    /// A sender that has sent nothing.
    pub fn new(settings: ArqSettings) -> Self {
        Self {
            settings,
            base: 0,
            frames: VecDeque::new(),
            resume: 0,
            repeats: VecDeque::new(),
            first_transmission: 0,
            transmissions: VecDeque::new(),
            heard: Time::ZERO,
            settled_from: 0,
            counters: ArqCounters::default(),
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &ArqSettings {
        &self.settings
    }

    /// Totals as far as the sender knows them.
    pub fn counters(&self) -> ArqCounters {
        self.counters
    }

    /// Returns true if the window admits another packet.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.frames.len() < self.settings.window as usize
    }

    /// Returns true if the window admits this number of packets, and one more.
    #[inline]
    pub fn is_open_for(&self, packets: usize) -> bool {
        self.frames.len() + packets < self.settings.window as usize
    }

    /// Returns true if each transmission whose fate is not known is the only one of a frame that
    /// the far end needs, or comes after a lost one. So a status frame without a loss neither
    /// cancels a repeat nor leaves transmissions behind that nothing depends on.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.settled_from <= self.first_transmission
    }

    /// Returns true if a frame waits to be repeated.
    #[inline]
    pub fn has_repeat(&self) -> bool {
        match self.settings.repeat {
            Repeat::GoBackN => self.resume < self.next(),
            Repeat::Selective { .. } => !self.repeats.is_empty(),
        }
    }

    /// The number of the next new frame.
    fn next(&self) -> u64 {
        self.base + self.frames.len() as u64
    }

    fn next_transmission(&self) -> u64 {
        self.first_transmission + self.transmissions.len() as u64
    }

    /// The frame that is repeated next, and its bytes without framing.
    pub fn repeat(&mut self) -> Option<(Frame, u32)> {
        let number = match self.settings.repeat {
            Repeat::GoBackN if self.resume < self.next() => {
                self.resume += 1;
                self.resume - 1
            }
            Repeat::GoBackN => return None,
            Repeat::Selective { .. } => self.repeats.pop_front()?,
        };
        let (transmission, empty_bytes) = (self.next_transmission(), self.settings.header);
        let frame = self.frame_mut(number)?;
        frame.last = transmission;
        let bytes = if frame.is_given_up { empty_bytes } else { frame.bytes };
        let &mut Outstanding { ticket, ecn, is_given_up: is_skip, .. } = frame;
        let counters = &mut self.counters;
        *(if is_skip { &mut counters.skip_frames } else { &mut counters.repeated_frames }) += 1;
        if !self.is_settled() {
            self.settled_from = transmission + 1;
        }
        self.skip_arrived();
        let number = self.settings.number(number);
        Some((Frame { number, transmission, ticket, ecn, is_skip }, bytes))
    }

    /// The frame of a packet that leaves the queue while the window is open.
    #[inline]
    pub fn send(&mut self, packet: &Queued) -> Frame {
        let &Queued { ticket, unframed: bytes, ecn, .. } = packet;
        let (number, transmission) = (self.next(), self.next_transmission());
        self.frames.push_back(Outstanding {
            ticket,
            bytes,
            ecn,
            failures: 0,
            last: transmission,
            has_arrived: false,
            is_given_up: false,
        });
        self.resume = self.next();
        self.counters.frames += 1;
        let number = self.settings.number(number);
        Frame { number, transmission, ticket, ecn, is_skip: false }
    }

    /// The last bit of `frame` is sent at `left`. That the channel corrupts it is only counted.
    #[inline]
    pub fn leaves(&mut self, frame: &Frame, left: Time, corrupted: bool) {
        self.counters.corrupted_frames += u64::from(corrupted);
        let frame = self.base + self.settings.ahead(frame.number, self.base);
        self.transmissions.push_back(Transmission { frame, left });
    }

    fn frame_mut(&mut self, number: u64) -> Option<&mut Outstanding> {
        let place = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.frames.get_mut(place)
    }

    /// A status frame arrives at `now`.
    #[inline]
    pub fn on_status(&mut self, now: Time, status: &Status) {
        self.heard = now;
        self.counters.received_status_frames += 1;
        let confirmed = self.settings.ahead(status.next, self.base);
        let confirmed = usize::try_from(confirmed).unwrap_or(usize::MAX);
        if confirmed <= self.frames.len() {
            for _ in 0..confirmed {
                self.frames.pop_front();
            }
            self.base += confirmed as u64;
            self.resume = self.resume.max(self.base);
        }
        while self.first_transmission <= status.transmission
            && let Some(Transmission { frame, .. }) = self.transmissions.pop_front()
        {
            let age = status.transmission - self.first_transmission;
            let has_arrived = age < u64::from(u64::BITS) && status.arrived >> age & 1 == 1;
            if has_arrived {
                self.arrived(frame);
            } else {
                self.lost(frame, self.first_transmission);
            }
            self.first_transmission += 1;
        }
        if self.settings.repeat == Repeat::GoBackN {
            let is_known = |first: &Outstanding| first.last <= status.transmission;
            if self.frames.front().is_some_and(is_known) && self.resume > self.base {
                self.go_back();
            }
        }
        self.skip_arrived();
        if self.frames.is_empty() {
            self.forget_transmissions();
        }
    }

    /// This number of status frames have arrived, the last of them at `at`. None of them reports a
    /// loss, and the sender is [settled](Self::is_settled): the same as
    /// [`on_status`](Self::on_status) for each.
    pub fn on_clean_statuses(&mut self, at: Time, last: &Status, number: u64) {
        self.heard = at;
        self.counters.received_status_frames += number;
        let confirmed = self.settings.ahead(last.next, self.base);
        let places = usize::try_from(confirmed).unwrap_or(usize::MAX);
        if places <= self.frames.len() {
            self.frames.drain(..places);
            self.base += confirmed;
            self.resume = self.resume.max(self.base);
        }
        let known = (last.transmission + 1).saturating_sub(self.first_transmission);
        let known = usize::try_from(known).unwrap_or(usize::MAX).min(self.transmissions.len());
        if last.is_reject {
            for place in 0..known {
                self.arrived(self.transmissions[place].frame);
            }
        }
        self.transmissions.drain(..known);
        self.first_transmission += known as u64;
        if self.frames.is_empty() {
            self.forget_transmissions();
        }
    }

    /// Selective repeat: the far end has frame `number`. Go-back-N discards what comes out of
    /// order.
    fn arrived(&mut self, number: u64) {
        if self.settings.repeat != Repeat::GoBackN
            && let Some(frame) = self.frame_mut(number)
        {
            frame.has_arrived = true;
        }
    }

    /// Forgets the next repeats, as long as the far end has their frames.
    fn skip_arrived(&mut self) {
        while let Some(number) = self.repeats.front().copied()
            && self.frame_mut(number).is_none_or(|frame| frame.has_arrived)
        {
            self.repeats.pop_front();
        }
    }

    /// A transmission of frame `number` is lost: if it was the last one, the frame is repeated.
    fn lost(&mut self, number: u64, transmission: u64) {
        if self.settings.repeat == Repeat::GoBackN {
            return;
        }
        let Some(frame) = self.frame_mut(number) else { return };
        if frame.last == transmission && !frame.has_arrived {
            self.fail(number);
            self.repeats.push_back(number);
        }
    }

    /// Go-back-N: the oldest frame is lost.
    fn go_back(&mut self) {
        self.fail(self.base);
        self.resume = self.base;
    }

    fn fail(&mut self, number: u64) {
        let persistence = self.settings.persistence;
        let Some(frame) = self.frame_mut(number) else { return };
        frame.failures = frame.failures.saturating_add(1);
        if frame.failures > persistence && !frame.is_given_up {
            frame.is_given_up = true;
            self.counters.given_up_packets += 1;
        }
    }

    fn forget_transmissions(&mut self) {
        self.first_transmission = self.next_transmission();
        self.transmissions.clear();
    }

    /// When the timer expires; never, if nothing is outstanding. It only moves to later times.
    pub fn deadline(&self) -> Time {
        let first = self.transmissions.front();
        first.map_or(Time::NEVER, |first| first.left.max(self.heard) + self.settings.timer)
    }

    /// The timer has expired, if it has by `now`: what was sent longer ago is lost.
    pub fn on_timer(&mut self, now: Time) {
        if self.deadline() > now {
            return;
        }
        self.counters.timeouts += 1;
        self.settled_from = self.next_transmission() + 1;
        if self.settings.repeat == Repeat::GoBackN {
            self.forget_transmissions();
            self.go_back();
            return;
        }
        while let Some(&Transmission { frame, left }) = self.transmissions.front()
            && left + self.settings.timer <= now
        {
            self.transmissions.pop_front();
            self.lost(frame, self.first_transmission);
            self.first_transmission += 1;
        }
    }
}
