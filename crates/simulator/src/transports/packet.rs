//! Content of packets: segments of TCP in runs in which all flows speak it, and packets of any
//! protocol in others.

use std::fmt::Debug;

use network::{Advance, Ecn, Fabric, NodeId, Packet};
use tcp::Segment;
use units::Time;
use wire::Addresses;
use wire::feedback::Field;

use crate::capture::SNAPLEN;
use crate::hosts::Body;

/// Content of the packets of a loop, as hosts and middleboxes need it.
///
/// Middleboxes answer and rewrite segments of TCP only, so each type can be made of one.
pub(crate) trait Carried: Clone + Debug + Default + From<Segment> + Send + 'static {
    /// Length without the header of IP.
    fn bytes(&self) -> u16;

    /// How routers may mark it.
    fn ecn(&self) -> Ecn;

    /// The path that it takes, by its place in the list of paths of its connection.
    fn path(&self) -> u8;

    /// True if it has data. Packets of other protocols than TCP count as if they had.
    fn has_data(&self) -> bool;

    /// The segment of TCP, or the packet of another protocol.
    fn content(&self) -> Content<'_>;

    /// A host sends a packet. Its content may be taken out of it.
    fn send<F: Fabric<Body<Self>>>(
        fabric: &mut F,
        now: Time,
        from: NodeId,
        packet: &mut Packet<Body<Self>>,
    );

    /// Lets the next event of a network happen, and perhaps more, up to and including `until`. The
    /// last may be a packet that has reached its destination, which `look` gets with its feedback
    /// field.
    fn advance<F: Fabric<Body<Self>>, R>(
        fabric: &mut F,
        until: Time,
        look: impl FnOnce(Time, &Packet<Body<Self>>, &Field) -> R,
    ) -> Advance<R>;

    /// The segment, if it is one of TCP.
    #[inline(always)]
    fn segment(&self) -> Option<&Segment> {
        match self.content() {
            Content::Tcp(segment) => Some(segment),
            Content::Other(_) => None,
        }
    }
}

/// Content of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'a> {
    /// A segment of TCP.
    Tcp(&'a Segment),
    /// A packet of another protocol.
    Other(&'a dyn OnWire),
}

impl<'a> Content<'a> {
    /// Length without the header of IP.
    pub(crate) fn bytes(self) -> u16 {
        match self {
            Self::Tcp(segment) => segment.bytes(),
            Self::Other(packet) => packet.bytes(),
        }
    }

    /// The segment, if it is one of TCP.
    pub(crate) fn segment(self) -> Option<&'a Segment> {
        match self {
            Self::Tcp(segment) => Some(segment),
            Self::Other(_) => None,
        }
    }
}

/// A packet of another protocol than TCP, which can write itself into captures.
pub(crate) trait OnWire: Debug {
    /// Length without the header of IP.
    fn bytes(&self) -> u16;

    /// The path that it takes.
    fn path(&self) -> u8 {
        0
    }

    /// Returns true if routers may mark it instead of dropping it.
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// Number of its protocol in the header of IP.
    fn number(&self) -> u8;

    /// Most bytes that are worth keeping, with the header of IP. The default has all headers.
    fn snaplen(&self) -> u16 {
        SNAPLEN
    }

    /// Appends to `out` all that follows the header of IP, with its checksum. Payload that is not
    /// simulated is zeros. `ports` are those of source and destination.
    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>);
}

/// The code point of a packet that routers may mark.
#[cold]
fn capable(segment: &Segment) -> Ecn {
    if segment.is_low_latency() { Ecn::Scalable } else { Ecn::Capable }
}

impl Carried for Segment {
    #[inline(always)]
    fn bytes(&self) -> u16 {
        self.bytes()
    }

    #[inline(always)]
    fn ecn(&self) -> Ecn {
        if self.is_ecn_capable() { capable(self) } else { Ecn::NotCapable }
    }

    #[inline(always)]
    fn path(&self) -> u8 {
        0
    }

    fn has_data(&self) -> bool {
        self.payload > 0
    }

    #[inline(always)]
    fn content(&self) -> Content<'_> {
        Content::Tcp(self)
    }

    #[inline(always)]
    fn send<F: Fabric<Body>>(
        fabric: &mut F,
        now: Time,
        from: NodeId,
        packet: &mut Packet<Body<Self>>,
    ) {
        fabric.send_copy(now, from, packet);
    }

    /// The packet stays where it is.
    #[inline(always)]
    fn advance<F: Fabric<Body>, R>(
        fabric: &mut F,
        until: Time,
        look: impl FnOnce(Time, &Packet<Body>, &Field) -> R,
    ) -> Advance<R> {
        fabric.advance_and_look(until, look)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Packet;
    use crate::hosts::Body;

    /// Packets are moved for each hop. Those of other protocols do not make those of TCP longer.
    #[test]
    fn what_a_packet_carries_stays_small() {
        assert!(size_of::<Body>() <= 64);
        assert!(size_of::<Body<Packet>>() <= 112, "{}", size_of::<Body<Packet>>());
    }
}
