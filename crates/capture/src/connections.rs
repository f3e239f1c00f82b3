//! All connections of a capture.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::connection::{Connection, Seen};
use crate::file::Packet;
use crate::link::Other;
use crate::results::ConnectionRecord;
use crate::segment::{Segment, segment};
use crate::summary::summary;

/// Connections that are analysed. Each takes some kB, so that memory is bounded.
pub const MOST_CONNECTIONS: usize = 100_000;

/// Counts of packets without a segment of TCP.
#[derive(Clone, Debug, Default)]
pub(crate) struct Others {
    pub link_type: u64,
    pub first_link_type: Option<(u64, i32)>,
    pub fragments: u64,
    pub headers: u64,
    pub protocols: BTreeMap<u8, u64>,
}

/// The connections that are being read.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Vec<Connection>,
    /// Places in `open` by the ends, the lower one first.
    places: BTreeMap<(SocketAddr, SocketAddr), usize>,
    /// Connections whose ports were used again.
    ended: Vec<ConnectionRecord>,
    number: u64,
    zero_ns: Option<u64>,
    pub last_ns: u64,
    pub tcp_packets: u64,
    pub others: Others,
    /// Packets of connections beyond [`MOST_CONNECTIONS`].
    pub beyond: u64,
    /// Packets with a time before that of an earlier packet.
    pub disordered: u64,
}

impl Connections {
    /// Time of the first packet.
    pub fn zero_ns(&self) -> u64 {
        self.zero_ns.unwrap_or(0)
    }

    /// Takes a packet, and shows its segment to `observe`.
    pub fn take(&mut self, packet: &Packet<'_>, observe: &mut impl FnMut(&Seen<'_>)) {
        self.zero_ns.get_or_insert(packet.at_ns);
        self.disordered += u64::from(packet.at_ns < self.last_ns);
        self.last_ns = self.last_ns.max(packet.at_ns);
        match segment(packet) {
            Ok(Ok(segment)) => self.take_segment(&segment, observe),
            Ok(Err(protocol)) => *self.others.protocols.entry(protocol).or_default() += 1,
            Err(other) => self.count(other, packet),
        }
    }

    fn count(&mut self, other: Other, packet: &Packet<'_>) {
        let others = &mut self.others;
        match other {
            Other::LinkType => {
                others.link_type += 1;
                others.first_link_type.get_or_insert((packet.number, packet.link));
            }
            Other::Fragment => others.fragments += 1,
            Other::Header => others.headers += 1,
            // Every network has them, and no part of TCP is missing.
            Other::NotIp => {}
        }
    }

    fn take_segment(&mut self, segment: &Segment, observe: &mut impl FnMut(&Seen<'_>)) {
        let (a, b) = (segment.source, segment.destination);
        let ends = if a <= b { (a, b) } else { (b, a) };
        let zero = self.zero_ns();
        let mut place = self.places.get(&ends).copied();
        if place.is_none_or(|place| self.open[place].is_other(segment)) {
            if self.number >= MOST_CONNECTIONS as u64 {
                self.places.remove(&ends);
                self.beyond += 1;
                return;
            }
            self.number += 1;
            let new = Connection::new(self.number, segment);
            match place {
                Some(place) => {
                    let earlier = std::mem::replace(&mut self.open[place], new);
                    self.ended.push(summary(&earlier, zero));
                }
                None => {
                    place = Some(self.open.len());
                    self.places.insert(ends, self.open.len());
                    self.open.push(new);
                }
            }
        }
        let Some(place) = place else { return };
        self.tcp_packets += 1;
        self.open[place].take(segment, zero, observe);
    }

    /// The results, in the order of first packets.
    pub fn results(self) -> Vec<ConnectionRecord> {
        let zero = self.zero_ns();
        let mut results = self.ended;
        results.extend(self.open.iter().map(|connection| summary(connection, zero)));
        results.sort_by_key(|connection| connection.number);
        results
    }
}
