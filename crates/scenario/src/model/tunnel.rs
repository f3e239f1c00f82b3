//! Tunnels between two nodes, and which packets are in them.

use std::ops::Range;

use congestion::Specification;
use units::Bytes;
use wire::IpVersion;

use super::{Flow, Link, Scenario, Way};
use crate::routes::{Hop, Routes};

/// A tunnel.
#[derive(Clone, Debug, PartialEq)]
pub struct Tunnel {
    /// Numbers of the nodes at its ends.
    pub ends: [usize; 2],
    /// Protocol and parameters.
    pub settings: middlebox::Tunnel,
    /// Length of the longest IP packet inside, in bytes.
    pub mtu: u16,
    /// Congestion control of its outer connection, if it has any.
    pub outer: Option<OuterConnection>,
}

/// Congestion control of the outer connection of a tunnel.
#[derive(Clone, Debug, PartialEq)]
pub struct OuterConnection {
    /// Controller of both ends. QUIC can carry it.
    pub controller: Specification,
    /// Largest congestion window, if there is a limit.
    pub max_window: Option<Bytes>,
    /// Bytes of outer packets that may wait at an end.
    pub buffer: Bytes,
    /// True if lost packets are retransmitted, and all come out in order.
    pub capsules: bool,
}

/// The part of a way that is inside a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The end at which packets enter: its place in [`Tunnel::ends`].
    pub enters: usize,
    /// The hops between the ends, among those of the whole way.
    pub hops: Range<usize>,
    /// True for a beam between the ends: that of a terminal which sends, and that of one which
    /// receives.
    pub beams: [bool; 2],
}

/// The part of a way on which a tunnel hides packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// The hops over links.
    pub hops: Vec<Hop>,
    /// True for the return channel of a terminal which sends, and for the forward carrier to one
    /// which receives.
    pub beams: [bool; 2],
}

impl Hidden {
    /// Returns true if no tunnel hides the packets.
    pub fn is_empty(&self) -> bool {
        self.hops.is_empty() && self.beams == [false; 2]
    }
}

impl Tunnel {
    /// Length of the outer packet around an inner one of `bytes`.
    pub fn outer(&self, ip: IpVersion, bytes: u16) -> u16 {
        self.settings.outer(ip, bytes, self.mtu)
    }

    /// Length of the longest message of the set-up as an IP packet; zero for a tunnel that exists.
    pub fn longest_message(&self, ip: IpVersion) -> u16 {
        if self.settings.is_established() {
            return 0;
        }
        let payloads = self.settings.flights().bytes.iter().flat_map(|flight| flight.iter());
        payloads.max().map_or(0, |payload| payload + wire::udp::HEADER + ip.header_bytes())
    }

    /// The part of a way that is inside; `None` if it does not lead through both ends. An end at a
    /// terminal is the host behind it.
    pub fn inside(&self, routes: &Routes, links: &[Link], (from, to): Way) -> Option<Inside> {
        let nodes = routes.nodes(from, to, links);
        let [first, second] = self.ends.map(|end| nodes.iter().position(|node| *node == end));
        let (first, second) = (first?, second?);
        let (start, end) = (first.min(second), first.max(second));
        let [before, after] = [from, to].map(|end| routes.is_terminal(end));
        let beams = [before && start == 0, after && end == nodes.len() - 1];
        // A beam is no hop.
        let most = nodes.len() - 1 - usize::from(before) - usize::from(after);
        let hops = [start, end].map(|place| place.saturating_sub(before.into()).min(most));
        Some(Inside { enters: usize::from(second < first), hops: hops[0]..hops[1], beams })
    }
}

impl Scenario {
    /// The tunnel of a flow.
    pub fn tunnel_of(&self, flow: &Flow) -> Option<&Tunnel> {
        Some(&self.tunnels[flow.tunnel?])
    }

    /// The part of the way of packets of a flow on which its tunnel hides them.
    pub fn hidden(&self, routes: &Routes, flow: &Flow, way: Way) -> Hidden {
        let tunnel = self.tunnel_of(flow);
        let inside = tunnel.and_then(|tunnel| tunnel.inside(routes, &self.links, way));
        inside.map_or_else(Hidden::default, |inside| Hidden {
            hops: routes.path(way.0, way.1, &self.links)[inside.hops].to_vec(),
            beams: inside.beams,
        })
    }

    /// Length on `hop` of a packet of a flow that has `bytes` outside its tunnel. Both lengths are
    /// those of IP packets.
    pub fn bytes_on(&self, (flow, hidden): (&Flow, &Hidden), hop: Hop, bytes: f64) -> f64 {
        self.bytes_where(flow, hidden.hops.contains(&hop), bytes)
    }

    /// Length of the same packet on the beams of its way: that of a terminal which sends, and that
    /// of one which receives.
    pub fn bytes_over(&self, (flow, hidden): (&Flow, &Hidden), bytes: f64) -> [f64; 2] {
        hidden.beams.map(|is_hidden| self.bytes_where(flow, is_hidden, bytes))
    }

    fn bytes_where(&self, flow: &Flow, is_hidden: bool, bytes: f64) -> f64 {
        match self.tunnel_of(flow).filter(|_| is_hidden) {
            Some(tunnel) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a length of at most 65,535 bytes"
                )]
                let whole = bytes.round() as u16;
                bytes + f64::from(tunnel.outer(self.ip, whole)) - f64::from(whole)
            }
            None => bytes,
        }
    }

    /// Returns true if a tunnel hides packets of a flow from the proxy at `node`: it is between the
    /// ends, and not one of them. The host behind a terminal is the end, and the terminal between.
    pub fn hides_from(&self, routes: &Routes, flow: &Flow, node: usize) -> bool {
        let Some(tunnel) = self.tunnel_of(flow) else { return false };
        let hides = |(from, to): Way| {
            let Some(inside) = tunnel.inside(routes, &self.links, (from, to)) else { return false };
            let nodes = routes.nodes(from, to, &self.links);
            let place = |end: usize| nodes.iter().position(|one| *one == end);
            let (Some(own), Some(entry), Some(exit)) = (
                place(node),
                place(tunnel.ends[inside.enters]),
                place(tunnel.ends[1 - inside.enters]),
            ) else {
                return false;
            };
            match routes.is_terminal(node) {
                true => own == entry || own == exit,
                false => entry < own && own < exit,
            }
        };
        hides((flow.from, flow.to)) || hides((flow.to, flow.from))
    }
}
