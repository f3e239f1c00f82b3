//! Segments that wait for their ACK, and the RTTs that ACKs give.
//!
//! Sources: Karn, Partridge, SIGCOMM 1987 (no RTT of retransmitted data); S. Ostermann, tcptrace
//! manual, "RTT stats" (an ACK that had to wait for the repair of earlier data is no sample).

use std::collections::VecDeque;

/// Segments that are kept for a direction. Wireshark keeps 10,000.
const MOST: usize = 1 << 16;
/// As long as the other direction acknowledges nothing.
const MOST_WITHOUT_ACKS: usize = 64;

/// A range of sent data.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: i64,
    end: i64,
    first_at: u64,
    last_at: u64,
    again: bool,
}

/// An RTT from data to the ACK of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time from the first transmission in ns.
    pub rtt_ns: u64,
    /// The data was sent once, and no earlier data was sent after it.
    pub unambiguous: bool,
}

/// Data of a direction that waits for its ACK, by position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outstanding {
    sent: VecDeque<Sent>,
    has_acks: bool,
}

impl Outstanding {
    /// Keeps a transmission of `start..end`.
    pub fn transmit(&mut self, start: i64, end: i64, at: u64) {
        let new = |start, end| Sent { start, end, first_at: at, last_at: at, again: false };
        if self.sent.back().is_none_or(|last| last.end <= start) {
            self.sent.push_back(new(start, end));
            let most = if self.has_acks { MOST } else { MOST_WITHOUT_ACKS };
            if self.sent.len() > most {
                self.sent.pop_front();
            }
            return;
        }
        let mut place = self.sent.partition_point(|sent| sent.end <= start);
        let mut from = start;
        while from < end {
            match self.sent.get_mut(place) {
                Some(sent) if sent.start <= from => {
                    (sent.last_at, sent.again) = (at, true);
                    from = sent.end;
                }
                next => {
                    let to = next.map_or(end, |sent| sent.start.min(end));
                    self.sent.insert(place, new(from, to));
                    from = to;
                }
            }
            place += 1;
        }
    }

    /// Removes data before `ack`. Returns the RTT if a segment ends there.
    pub fn acknowledge(&mut self, ack: i64, at: u64) -> Option<Sample> {
        self.has_acks = true;
        let mut sample = None;
        let mut repaired_at = 0;
        while let Some(first) = self.sent.front_mut() {
            if first.end > ack {
                first.start = first.start.max(ack);
                break;
            }
            let sent = *first;
            self.sent.pop_front();
            sample = (sent.end == ack).then(|| Sample {
                rtt_ns: at.saturating_sub(sent.first_at),
                unambiguous: !sent.again && repaired_at <= sent.first_at,
            });
            repaired_at = repaired_at.max(sent.last_at);
        }
        sample
    }

    /// Time of the first transmission of the byte at `position`, if it waits for its ACK.
    pub fn first_sent(&self, position: i64) -> Option<u64> {
        let place = self.sent.partition_point(|sent| sent.end <= position);
        self.sent.get(place).filter(|sent| sent.start <= position).map(|sent| sent.first_at)
    }
}
