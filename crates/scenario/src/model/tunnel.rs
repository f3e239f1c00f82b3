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
}

impl Tunnel {
    /// Length of the outer packet around an inner one of `bytes`.
    pub fn outer(&self, ip: IpVersion, bytes: u16) -> u16 {
        self.settings.outer(ip, bytes, self.mtu)
    }

    /// The part of a way with these hops from `from` that is inside; `None` if it does not lead
    /// through both ends.
    pub fn inside(&self, links: &[Link], from: usize, hops: &[Hop]) -> Option<Inside> {
        let nodes = || std::iter::once(from).chain(hops.iter().map(|hop| hop.to(links)));
        let [first, second] = self.ends.map(|end| nodes().position(|node| node == end));
        let (first, second) = (first?, second?);
        let enters = usize::from(second < first);
        Some(Inside { enters, hops: first.min(second)..first.max(second) })
    }
}

impl Scenario {
    /// The tunnel of a flow.
    pub fn tunnel_of(&self, flow: &Flow) -> Option<&Tunnel> {
        Some(&self.tunnels[flow.tunnel?])
    }

    /// The hops of packets of a flow from `from` to `to` on which its tunnel hides them.
    pub fn hidden_hops(&self, routes: &Routes, flow: &Flow, (from, to): Way) -> Vec<Hop> {
        let hops = routes.path(from, to, &self.links);
        let inside =
            self.tunnel_of(flow).and_then(|tunnel| tunnel.inside(&self.links, from, &hops));
        inside.map_or_else(Vec::new, |inside| hops[inside.hops].to_vec())
    }

    /// Length on `hop` of a packet of a flow from `from` to `to` that has `bytes` outside its
    /// tunnel. Both lengths are those of IP packets.
    pub fn bytes_on(&self, (flow, hidden): (&Flow, &[Hop]), hop: Hop, bytes: f64) -> f64 {
        match self.tunnel_of(flow).filter(|_| hidden.contains(&hop)) {
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
    /// ends, and not one of them.
    pub fn hides_from(&self, routes: &Routes, flow: &Flow, node: usize) -> bool {
        let hidden = |way| {
            let hops = self.hidden_hops(routes, flow, way);
            hops.iter().skip(1).any(|hop| hop.from(&self.links) == node)
        };
        flow.tunnel.is_some() && (hidden((flow.from, flow.to)) || hidden((flow.to, flow.from)))
    }
}
