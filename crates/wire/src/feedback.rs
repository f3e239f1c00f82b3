//! The feedback field of a packet: a sender asks routers for a rate, routers change what it asks
//! for, and the receiver returns the result with its ACKs.
//!
//! One field for all protocols with feedback from routers. [`Protocol`] says what the rate means,
//! which routers treat the field, and how the receiver adds up several of them.
//!
//! Decisions:
//! - It is a model and no bit format: rates are numbers and not codes, and the field adds no bytes
//!   to a packet. XCP's header has 20 bytes (draft-falk-xcp-spec), which is 1.3 % of a full packet.
//! - The field counts the links whose routers have treated it, and knows how many there are. So the
//!   sender finds routers that do not speak the protocol, as the difference of two TTL fields shows
//!   in RFC 4782 section 4.1. The queue before the first link counts: in a scenario it may be the
//!   bottleneck.

pub mod quick_start;

/// A protocol with feedback from routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// XCP: the rate is a change of the sender's throughput.
    Xcp,
    /// EBN: the rate is the one at which the sender may send.
    Ebn,
    /// Quick-Start (RFC 4782): the rate is one at which the sender may start.
    QuickStart,
}

/// Request of a packet to the routers on its way, and their answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// The protocol of the sender.
    pub protocol: Protocol,
    /// The rate in bytes per second, which routers may change.
    pub rate: f32,
    /// Round-trip time of the sender in seconds; zero if it is unknown.
    pub round_trip: f32,
    /// Mean time between two packets of the sender in seconds.
    pub spacing: f32,
    /// Links whose routers have treated the field so far.
    pub treated: u8,
    /// Links between sender and receiver.
    pub links: u8,
}

/// Feedback that the receiver returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// The protocol of the request.
    pub protocol: Protocol,
    /// The rate in bytes per second as it has arrived.
    pub rate: f32,
    /// True if the routers of all links have treated the field.
    pub is_complete: bool,
}

/// The feedback field of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Field {
    /// Request of the packet itself.
    pub request: Option<Request>,
    /// Response in an ACK.
    pub response: Option<Response>,
    /// Report of Approved Rate (RFC 4782 section 3.1): the rate in bytes per second that the sender
    /// has been approved; zero if there is none.
    pub report: Option<f32>,
    /// Explicit loss notification: an error on a link has taken the data that this ACK asks for,
    /// and no full queue. On a real wire a reserved bit of the TCP header would say it.
    pub loss_notice: bool,
}

impl Request {
    /// The router of a link has treated the field.
    pub fn count_link(&mut self) {
        self.treated = self.treated.saturating_add(1);
    }

    /// Response of the receiver to this request alone.
    pub fn response(&self) -> Response {
        let Self { protocol, rate, treated, links, .. } = *self;
        Response { protocol, rate, is_complete: treated >= links }
    }
}

impl Response {
    /// Response of an ACK that acknowledges the packets of this response and of a later one.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        match later.protocol {
            // Changes add up, so that delayed ACKs lose nothing.
            Protocol::Xcp if self.protocol == Protocol::Xcp => Self {
                rate: self.rate + later.rate,
                is_complete: self.is_complete && later.is_complete,
                ..later
            },
            Protocol::Xcp | Protocol::Ebn | Protocol::QuickStart => later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(treated: u8) -> Request {
        let protocol = Protocol::Xcp;
        Request { protocol, rate: 100.0, round_trip: 0.1, spacing: 0.01, treated, links: 2 }
    }

    #[test]
    fn a_link_that_does_not_treat_the_field_makes_it_incomplete() {
        let mut request = request(0);
        request.count_link();
        assert!(!request.response().is_complete);
        request.count_link();
        assert!(request.response().is_complete);
    }

    #[test]
    fn changes_of_rate_add_up_and_are_complete_together() {
        let (whole, part) = (request(2).response(), request(1).response());
        assert_eq!(whole.and(whole), Response { rate: 200.0, ..whole });
        assert!(!whole.and(part).is_complete && !part.and(whole).is_complete);
    }
}
