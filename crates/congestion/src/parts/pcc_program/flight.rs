//! Packets in the network, with numbers from the first packet on. Bytes that a transport reports
//! as acknowledged or lost become packets again.

use std::collections::VecDeque;

use units::Time;

use super::intervals::Sample;

#[derive(Clone, Copy, Debug)]
struct Packet {
    sent_at: Time,
    sample: Sample,
    /// Acknowledged or lost.
    is_counted: bool,
}

/// The packets, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    packets: VecDeque<Packet>,
    sent: u64,
    /// Bytes of packets of which a part is acknowledged, and of those of which a part is lost.
    parts: [u64; 2],
}

impl Flight {
    /// Packets sent.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn send(&mut self, sent_at: Time, bytes: u64) -> Sample {
        self.sent += 1;
        let sample = Sample { number: self.sent, bytes };
        self.packets.push_back(Packet { sent_at, sample, is_counted: false });
        sample
    }

    /// The packets of an ACK of these bytes, of which the youngest was sent at `youngest`.
    pub(super) fn acknowledge(&mut self, youngest: Option<Time>, bytes: u64) -> Vec<Sample> {
        self.count(0, youngest, bytes)
    }

    /// The packets that were lost.
    pub(super) fn lose(&mut self, sent_at: Time, bytes: u64) -> Vec<Sample> {
        self.count(1, Some(sent_at), bytes)
    }

    pub(super) fn lose_all(&mut self) -> Vec<Sample> {
        self.parts = [0; 2];
        let missing = self.packets.drain(..).filter(|packet| !packet.is_counted);
        missing.map(|packet| packet.sample).collect()
    }

    /// Counts packets from that of `time` on, then those before it, then those after it. Without
    /// a time the oldest are counted.
    fn count(&mut self, part: usize, time: Option<Time>, bytes: u64) -> Vec<Sample> {
        let mut counted = Vec::new();
        self.parts[part] += bytes;
        let mut place = self.place(time);
        while let Some(at) = place {
            let Some(packet) = self.packets.get_mut(at) else { break };
            if packet.sample.bytes > self.parts[part] {
                break;
            }
            packet.is_counted = true;
            self.parts[part] -= packet.sample.bytes;
            counted.push(packet.sample);
            if self.parts[part] == 0 {
                break;
            }
            place = self.missing_before(at).or_else(|| self.missing_from(at));
        }
        while self.packets.front().is_some_and(|packet| packet.is_counted) {
            self.packets.pop_front();
        }
        if self.packets.is_empty() {
            // More was reported than is missing, as after a timeout that was needless.
            self.parts[part] = 0;
        }
        counted
    }

    fn place(&self, time: Option<Time>) -> Option<usize> {
        let Some(time) = time else { return self.missing_from(0) };
        let first = self.packets.partition_point(|packet| packet.sent_at < time);
        let exact = self.missing_from(first).filter(|at| self.packets[*at].sent_at == time);
        exact.or_else(|| self.missing_before(first)).or_else(|| self.missing_from(first))
    }

    fn missing_before(&self, end: usize) -> Option<usize> {
        (0..end).rev().find(|at| !self.packets[*at].is_counted)
    }

    fn missing_from(&self, begin: usize) -> Option<usize> {
        (begin..self.packets.len()).find(|at| !self.packets[*at].is_counted)
    }
}
