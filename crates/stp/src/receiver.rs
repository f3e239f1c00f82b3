//! Receiver: order, gaps, credit, and what POLLs are answered with (Q.2110: VR(R), VR(H), VR(MR)).
//!
//! Over IP, packets may arrive late or twice. Where SSCOP takes that for an error of the protocol,
//! a duplicate is ignored, and a late POLL does not take VR(H) back.

use std::collections::VecDeque;

use transport::RangeSet;

use crate::config::Config;
use crate::pdu::{MAX_LIST, MAX_WINDOW};

/// A packet that has not arrived.
const MISSING: u16 = 0;

/// The answer to a POLL that is to be sent.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// N(PS) of the POLL.
    poll: u32,
    /// The list goes on with this number.
    from: u64,
}

/// List of a STAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) poll: u32,
    pub(crate) distances: [u16; MAX_LIST],
    pub(crate) length: u8,
}

/// Receiver of one end.
#[derive(Debug)]
pub(crate) struct Receiver {
    mss: u64,
    buffer: u64,
    reads_at_once: bool,
    /// VR(R): the next packet in order.
    next: u64,
    /// VR(H): the next one that is expected.
    highest: u64,
    /// VR(MR): the first one that is not taken.
    limit: u64,
    /// From `next` up to `highest`: length plus one, or [`MISSING`].
    lengths: VecDeque<u16>,
    /// Numbers of packets that wait for others.
    waiting: RangeSet,
    /// Number of the packet that ends the stream.
    end: Option<u64>,
    delivered: u64,
    unread: u64,
    answer: Option<Answer>,
    gap: Option<(u64, u64)>,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        let mut receiver = Self {
            mss: u64::from(config.mss),
            buffer: config.receive_buffer.get(),
            reads_at_once: config.reads_at_once,
            next: 0,
            highest: 0,
            limit: 0,
            lengths: VecDeque::new(),
            waiting: RangeSet::default(),
            end: None,
            delivered: 0,
            unread: 0,
            answer: None,
            gap: None,
        };
        receiver.grant();
        receiver
    }

    /// VR(R).
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// VR(MR).
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(crate) fn unread(&self) -> u64 {
        self.unread
    }

    /// The stream of the other end has arrived with its end.
    pub(crate) fn finished(&self) -> bool {
        self.end.is_some_and(|end| end < self.next)
    }

    /// A packet has arrived.
    pub(crate) fn on_data(&mut self, number: u64, payload: u16, ends: bool) {
        if number < self.next || u64::from(payload) > self.mss {
            return;
        }
        if number >= self.limit {
            // The rest of what it would take is a gap, which is reported once.
            if self.highest < self.limit {
                self.gap = Some((self.highest, self.limit));
                self.extend_to(self.limit);
            }
            return;
        }
        if ends {
            self.end = Some(number);
        }
        if number == self.next {
            self.take_in_order(payload);
        } else {
            self.keep(number, payload);
        }
        self.grant();
    }

    #[inline]
    fn take_in_order(&mut self, payload: u16) {
        self.deliver(payload);
        if self.lengths.pop_front().is_none() {
            self.highest += 1;
            return;
        }
        while let Some(&length) = self.lengths.front().filter(|length| **length != MISSING) {
            self.deliver(length - 1);
            self.lengths.pop_front();
        }
        self.waiting.remove_below(self.next);
    }

    fn deliver(&mut self, payload: u16) {
        self.next += 1;
        if self.reads_at_once {
            self.delivered += u64::from(payload);
        } else {
            self.unread += u64::from(payload);
        }
    }

    /// A packet above a gap, or within one.
    fn keep(&mut self, number: u64, payload: u16) {
        if number > self.highest {
            self.gap = Some((self.highest, number));
        }
        self.extend_to(number + 1);
        #[expect(clippy::cast_possible_truncation, reason = "a window has at most 65535 packets")]
        let place = &mut self.lengths[(number - self.next) as usize];
        if *place == MISSING {
            *place = payload + 1;
            self.waiting.insert(number, number + 1, 0);
        }
    }

    /// Packets below `end` are expected.
    fn extend_to(&mut self, end: u64) {
        while self.highest < end {
            self.lengths.push_back(MISSING);
            self.highest += 1;
        }
    }

    /// The credit is as many packets as fit the buffer if all are full. It never falls: what
    /// arrives takes no more than its share.
    fn grant(&mut self) {
        let packets = (self.buffer - self.unread.min(self.buffer)) / self.mss;
        self.limit = self.next + packets.min(MAX_WINDOW);
    }

    /// The application reads `bytes`.
    pub(crate) fn read(&mut self, bytes: u64) {
        let bytes = bytes.min(self.unread);
        self.unread -= bytes;
        self.delivered += bytes;
        self.grant();
    }

    /// A POLL has arrived, N(PS) and N(S).
    pub(crate) fn on_poll(&mut self, poll: u32, next_of_sender: u64) {
        self.extend_to(next_of_sender.min(self.limit));
        self.answer = Some(Answer { poll, from: self.next });
    }

    /// Returns true if there is something to report.
    #[inline]
    pub(crate) fn reports(&self) -> bool {
        self.answer.is_some() || self.gap.is_some()
    }

    /// The gap of the next USTAT.
    pub(crate) fn take_gap(&mut self) -> Option<(u64, u64)> {
        // Packets of it may have arrived since, if nothing could be sent before.
        let (start, end) = self.gap.take()?;
        (end > self.next).then_some((start.max(self.next), end))
    }

    /// The list of the next STAT: from VR(R) up to VR(H), or as much of it as fits.
    pub(crate) fn take_list(&mut self) -> Option<List> {
        let Answer { poll, from } = self.answer.take()?;
        let mut list = List { poll, distances: [0; MAX_LIST], length: 0 };
        let mut gap = from.max(self.next);
        while gap < self.highest {
            if usize::from(list.length) == MAX_LIST - 1 {
                self.answer = Some(Answer { poll, from: gap });
                self.push(&mut list, gap);
                return Some(list);
            }
            let run = self.waiting.at_or_above(gap);
            self.push(&mut list, gap);
            self.push(&mut list, run.map_or(self.highest, |run| run.start.max(gap)));
            gap = run.map_or(self.highest, |run| run.end);
            if run.is_some() && gap == self.highest {
                self.push(&mut list, gap);
            }
        }
        Some(list)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a window has at most 65535 packets")]
    fn push(&self, list: &mut List, number: u64) {
        list.distances[usize::from(list.length)] = (number - self.next) as u16;
        list.length += 1;
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    fn receiver(packets: u64) -> Receiver {
        let config = Config { mss: 100, receive_buffer: Bytes(packets * 100), ..Config::default() };
        Receiver::new(&config)
    }

    fn list(receiver: &mut Receiver, next_of_sender: u64) -> Vec<u16> {
        receiver.on_poll(1, next_of_sender);
        let list = receiver.take_list().unwrap();
        list.distances[..usize::from(list.length)].to_vec()
    }

    fn receive(receiver: &mut Receiver, numbers: &[u64]) {
        numbers.iter().for_each(|number| receiver.on_data(*number, 100, false));
    }

    #[test]
    fn a_gap_is_reported_once() {
        let mut receiver = receiver(50);
        receive(&mut receiver, &[0, 1, 4]);
        assert_eq!(receiver.take_gap(), Some((2, 4)));
        receive(&mut receiver, &[5, 3]);
        assert_eq!(receiver.take_gap(), None);
        receive(&mut receiver, &[7]);
        assert_eq!(receiver.take_gap(), Some((6, 7)));
    }

    #[test]
    fn a_list_has_gaps_and_runs_up_to_what_the_poll_names() {
        let mut receiver = receiver(50);
        assert!(list(&mut receiver, 0).is_empty());
        receive(&mut receiver, &[0, 1, 4, 5, 8]);
        assert_eq!(list(&mut receiver, 9), [0, 2, 4, 6, 7], "2 and 3, then 6 and 7 are missing");
        assert_eq!(list(&mut receiver, 12), [0, 2, 4, 6, 7, 10]);
        assert_eq!(list(&mut receiver, 9), [0, 2, 4, 6, 7, 10], "a late POLL takes nothing back");
        receive(&mut receiver, &[2, 3]);
        assert_eq!(receiver.next(), 6);
        assert_eq!(list(&mut receiver, 12), [0, 2, 3, 6]);
    }

    #[test]
    fn a_long_list_takes_several_stats_that_join() {
        let mut receiver = receiver(200);
        receive(&mut receiver, &(1..60).step_by(2).collect::<Vec<_>>());
        receiver.on_poll(1, 60);
        let mut all = Vec::new();
        while let Some(list) = receiver.take_list() {
            let part = &list.distances[..usize::from(list.length)];
            assert!(all.last().is_none_or(|last| *last == part[0]));
            all.pop();
            all.extend_from_slice(part);
        }
        assert_eq!(all, (0..=60).collect::<Vec<u16>>());
    }

    #[test]
    fn duplicates_are_ignored() {
        let mut receiver = receiver(50);
        receive(&mut receiver, &[0, 0, 2, 2, 1, 1, 0, 2]);
        assert_eq!((receiver.next(), receiver.delivered()), (3, 300));
    }

    #[test]
    fn credit_follows_the_reader_and_what_exceeds_it_is_dropped() {
        let config = Config {
            mss: 100,
            receive_buffer: Bytes(350),
            reads_at_once: false,
            ..Config::default()
        };
        let mut receiver = Receiver::new(&config);
        assert_eq!(receiver.limit(), 3);
        receive(&mut receiver, &[0, 1, 2]);
        assert_eq!((receiver.limit(), receiver.unread()), (3, 300));
        receive(&mut receiver, &[3]);
        assert_eq!((receiver.next(), receiver.take_gap()), (3, None), "no room");
        receiver.read(149);
        assert_eq!(receiver.limit(), 4, "one fits");
        receive(&mut receiver, &[5]);
        assert_eq!(receiver.take_gap(), Some((3, 4)), "what it would have taken is missing");
        receive(&mut receiver, &[5]);
        assert_eq!(receiver.take_gap(), None);
    }

    #[test]
    fn the_stream_ends_when_everything_before_its_end_has_arrived() {
        let mut receiver = receiver(50);
        receiver.on_data(1, 0, true);
        assert!(!receiver.finished());
        receiver.on_data(0, 100, false);
        assert!(receiver.finished());
    }
}
