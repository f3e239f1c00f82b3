//! The receiver of ARQ: which frames have arrived, and which of them wait for one that is missing.

use std::collections::VecDeque;

use super::{ArqCounters, ArqSettings, Frame, Repeat, Status};
use crate::queue::Ecn;

/// A frame that the receiver has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Number under which the network holds its packet.
    pub ticket: u32,
    /// ECN field of the packet.
    pub ecn: Ecn,
    /// The packet was given up: it is dropped.
    pub is_skip: bool,
}

/// A frame at or behind the one that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Missing,
    /// It has arrived and waits.
    Held(Accepted),
    /// It has arrived and was passed on.
    Passed,
}

/// The receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    settings: ArqSettings,
    /// The frame that is expected next.
    next: u64,
    /// Selective repeat: the frames from it on, up to the last that has arrived.
    places: VecDeque<Place>,
    /// The last transmission that has arrived, and those before it.
    last_transmission: u64,
    arrived: u64,
    /// Go-back-N: a frame behind the expected one came last.
    is_rejecting: bool,
    counters: ArqCounters,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(settings: ArqSettings) -> Self {
        Self {
            settings,
            next: 0,
            places: VecDeque::new(),
            last_transmission: 0,
            arrived: 0,
            is_rejecting: false,
            counters: ArqCounters::default(),
        }
    }

    /// Totals as far as the receiver knows them, added to those of the sender.
    pub fn counters(&self, sender: ArqCounters) -> ArqCounters {
        let ArqCounters { status_frames, reject_frames, held_packets, discarded_frames, .. } =
            self.counters;
        ArqCounters { status_frames, reject_frames, held_packets, discarded_frames, ..sender }
    }

    /// A frame arrives intact. Frames that are passed on now, or dropped as given up, go to
    /// `accepted`, each number once. A status frame is due.
    #[inline]
    pub fn on_frame(&mut self, frame: &Frame, accepted: &mut Vec<Accepted>) {
        let later = frame.transmission.saturating_sub(self.last_transmission);
        self.arrived =
            self.arrived.checked_shl(u32::try_from(later).unwrap_or(u32::MAX)).unwrap_or(0) | 1;
        self.last_transmission = frame.transmission;
        let &Frame { ticket, ecn, is_skip, .. } = frame;
        let taken = Accepted { ticket, ecn, is_skip };
        let ahead = self.settings.ahead(frame.number, self.next);
        match self.settings.repeat {
            Repeat::GoBackN => {
                self.is_rejecting = ahead > 0;
                if self.is_rejecting {
                    self.counters.discarded_frames += 1;
                } else {
                    self.next += 1;
                    accepted.push(taken);
                }
            }
            Repeat::Selective { in_order } => self.place(ahead, taken, in_order, accepted),
        }
    }

    #[inline(never)]
    fn place(&mut self, ahead: u64, taken: Accepted, in_order: bool, accepted: &mut Vec<Accepted>) {
        if ahead == 0 && self.places.is_empty() {
            // The expected frame, and none waits for it.
            self.next += 1;
            accepted.push(taken);
            return;
        }
        let is_new = ahead < u64::from(self.settings.window);
        let place = usize::try_from(ahead).unwrap_or(usize::MAX);
        if !is_new || self.places.get(place).is_some_and(|place| *place != Place::Missing) {
            self.counters.discarded_frames += 1;
            return;
        }
        if self.places.len() <= place {
            self.places.resize(place + 1, Place::Missing);
        }
        self.places[place] = if in_order { Place::Held(taken) } else { Place::Passed };
        if !in_order {
            accepted.push(taken);
        } else if place > 0 && !taken.is_skip {
            self.counters.held_packets += 1;
        }
        while let Some(first) = self.places.front()
            && *first != Place::Missing
        {
            if let Place::Held(held) = *first {
                accepted.push(held);
            }
            self.places.pop_front();
            self.next += 1;
        }
    }

    /// The status frame whose transmission starts now.
    #[inline]
    pub fn status(&mut self) -> Status {
        let is_reject = self.is_rejecting || !self.places.is_empty();
        self.counters.status_frames += 1;
        self.counters.reject_frames += u64::from(is_reject);
        Status {
            next: self.settings.number(self.next),
            transmission: self.last_transmission,
            arrived: self.arrived,
            is_reject,
        }
    }
}
