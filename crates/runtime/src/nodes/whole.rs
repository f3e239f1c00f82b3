//! Packets as middleboxes and compressors see them, and messages of routers about them.

use std::net::IpAddr;

use link::Priority;
use middlebox::{Feedback, Header, Visible};
use network::{Ecn, Packet};
use wire::IpVersion;

use super::{Content, Passing};

impl<B: Visible> Visible for Passing<B> {
    fn header(&self) -> Option<Header> {
        self.readable()?.header()
    }

    fn bytes(&self) -> u16 {
        match &self.content {
            Content::Packet(body) => body.bytes(),
            Content::Feedback(..) => Feedback::BYTES,
            Content::SetUp(_, bytes) | Content::Frames(_, bytes) | Content::Probe(_, bytes) => {
                *bytes
            }
        }
    }

    fn pure_ack(
        &self,
        acknowledgement: u32,
        echo: Option<u32>,
        window: Option<u16>,
    ) -> Option<Self> {
        let body = self.readable()?;
        Some(Self::new(body.pure_ack(acknowledgement, echo, window)?, self.from, self.to))
    }

    fn with_timestamp(&self, value: u32) -> Self {
        let content = match &self.content {
            Content::Packet(body) => Content::Packet(body.with_timestamp(value)),
            Content::Feedback(port, feedback) => Content::Feedback(*port, *feedback),
            Content::SetUp(message, bytes) => Content::SetUp(*message, *bytes),
            Content::Frames(tunnel, bytes) => Content::Frames(*tunnel, *bytes),
            Content::Probe(probe, bytes) => Content::Probe(*probe, *bytes),
        };
        Self { content, frames: self.frames.clone(), ..*self }
    }

    fn too_big(&self, router: IpAddr, mtu: u16) -> Option<Self> {
        let body = self.readable()?;
        // A message has no sender that is known, and no answer.
        Some(Self::new(body.too_big(router, mtu)?, self.from, self.from))
    }

    fn with_loss_notice(&self) -> Self {
        let mut copy = self.clone();
        copy.field.loss_notice = true;
        copy
    }
}

/// A packet as a middlebox gets it.
#[derive(Clone, Debug)]
pub(super) struct Whole<B>(pub Packet<Passing<B>>);

impl<B: Visible> Visible for Whole<B> {
    fn header(&self) -> Option<Header> {
        self.0.body.header()
    }

    fn bytes(&self) -> u16 {
        self.0.bytes
    }

    fn pure_ack(
        &self,
        acknowledgement: u32,
        echo: Option<u32>,
        window: Option<u16>,
    ) -> Option<Self> {
        let body = self.0.body.pure_ack(acknowledgement, echo, window)?;
        let bytes = self.0.bytes - self.0.body.bytes() + body.bytes();
        let packet = &self.0;
        let Packet { flow, to, priority, .. } = *packet;
        Some(Self(Packet { body, flow, to, bytes, priority, ecn: Ecn::NotCapable }))
    }

    fn with_timestamp(&self, value: u32) -> Self {
        let Packet { flow, to, bytes, priority, ecn, .. } = self.0;
        let body = self.0.body.with_timestamp(value);
        Self(Packet { body, flow, to, bytes, priority, ecn })
    }

    fn too_big(&self, router: IpAddr, mtu: u16) -> Option<Self> {
        let message = message(&self.0, router, mtu)?;
        Some(Self(message))
    }

    fn with_loss_notice(&self) -> Self {
        let Packet { flow, to, bytes, priority, ecn, .. } = self.0;
        let body = self.0.body.with_loss_notice();
        Self(Packet { body, flow, to, bytes, priority, ecn })
    }
}

/// The ICMP message about a packet that is too long for a link, on its way back.
pub(super) fn message<B: Visible>(
    packet: &Packet<Passing<B>>,
    router: IpAddr,
    mtu: u16,
) -> Option<Packet<Passing<B>>> {
    let body = packet.body.too_big(router, mtu)?;
    let version = if router.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 };
    let bytes = wire::icmp::too_big_bytes(version, packet.bytes, mtu);
    let (to, priority, ecn) = (body.to, Priority::Normal, Ecn::NotCapable);
    // A flow of its own.
    Some(Packet { body, flow: u32::MAX, to, bytes, priority, ecn })
}
