//! The scenario file of random links and flows.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::flows::Flow;
use crate::hops::Hop;

/// The default, which becomes smaller where a host is at a link with an MTU.
const USUAL_MSS: &str = ", mss = 1460";

/// VJ, which knows IPv4 only.
const VJ: &str = "header_compression = \"vj\"\n";

/// The nodes from one to another in the tree of `hops`, both included.
fn route(hops: &[Hop], from: usize, to: usize) -> Vec<usize> {
    let parent = |node: &usize| node.checked_sub(1).map(|link| hops[link].from);
    let to_root = |node| std::iter::successors(Some(node), parent).collect::<Vec<_>>();
    let (mut up, mut down) = (to_root(from), to_root(to));
    let mut meeting = 0;
    while let (Some(a), Some(b)) = (up.last(), down.last())
        && a == b
    {
        meeting = *a;
        up.pop();
        down.pop();
    }
    up.push(meeting);
    up.extend(down.into_iter().rev());
    up
}

/// The middleboxes of `flows` by their nodes, at most one each: between the ends of the flow, or in
/// the queues of its sender.
fn placed(hops: &[Hop], flows: &[Flow]) -> BTreeMap<usize, String> {
    let mut placed = BTreeMap::new();
    for flow in flows {
        let Some((middlebox, text)) = &flow.middlebox else { continue };
        let (from, to) = ends(hops, flow);
        let route = route(hops, from, to);
        let place = match middlebox.is_in_queues() {
            true => Some(route[(route.len() - 1) / 2]),
            false => (route.len() > 2).then(|| route[1]),
        };
        if let Some(node) = place {
            placed.entry(node).or_insert_with(|| text.clone());
        }
    }
    placed
}

/// The numbers of the two nodes of a flow.
fn ends(hops: &[Hop], flow: &Flow) -> (usize, usize) {
    let nodes = hops.len() + 1;
    let from = flow.ends.0 % nodes;
    (from, (from + 1 + flow.ends.1 % (nodes - 1)) % nodes)
}

/// The scenario file. With `forwarding` the first node is a router with a limit; `interval` is that
/// of the samples in milliseconds.
pub fn scenario(
    hops: &[Hop],
    flows: &[Flow],
    forwarding: bool,
    interval: Option<u32>,
    ipv6: bool,
) -> String {
    let mut text = "duration = \"15s\"\n".to_owned();
    if ipv6 {
        text += "ip = \"ipv6\"\n";
    }
    if let Some(interval) = interval {
        write!(text, "[record]\ninterval = \"{interval}ms\"\n").expect("a text takes all");
    }
    let mut placed = placed(hops, flows);
    if forwarding {
        let (rate, buffer) = if ipv6 { (3, 30) } else { (4, 20) };
        write!(
            text,
            "[[node]]\nname = \"n0\"\nforwarding = {{ rate = \"{rate}Mbit/s\", buffer = \"{buffer}kB\" }}\n"
        )
        .expect("a text takes all");
        if let Some(middlebox) = placed.remove(&0) {
            writeln!(text, "middlebox = {middlebox}").expect("a text takes all");
        }
    }
    for (node, middlebox) in placed {
        write!(text, "[[node]]\nname = \"n{node}\"\nmiddlebox = {middlebox}\n")
            .expect("a text takes all");
    }
    for (number, hop) in hops.iter().enumerate() {
        let Hop { from, rate_kbps, delay_us, queue, channel, more, changes, framing } = hop;
        let to = number + 1;
        let more = if ipv6 { more.replace(VJ, "") } else { more.clone() };
        write!(
            text,
            "[[link]]\nbetween = [\"n{from}\", \"n{to}\"]\nrate = \"{rate_kbps}kbit/s\"\ndelay = \"{delay_us}us\"\nqueue = {queue}\noverhead = \"{framing}B\"\nevent = [{changes}]\n{more}forward = {{ channel = {channel} }}\n"
        )
        .expect("a text takes all");
    }
    let has_mtu = hops.iter().any(|hop| hop.more.contains("mtu = "));
    for flow in flows {
        let (from, to) = ends(hops, flow);
        let transport = &flow.transport;
        let transport = if has_mtu { transport.replace(USUAL_MSS, "") } else { transport.clone() };
        write!(
            text,
            "[[flow]]\nfrom = \"n{from}\"\nto = \"n{to}\"\nstart = \"{}ms\"\ncontroller = \"{}\"\ntransport = {{ recovery = \"{}\", {} }}\ntraffic = {{ {} }}\n",
            flow.start_ms, flow.controller, flow.recovery, transport, flow.traffic
        )
        .expect("a text takes all");
        if let Some(stop) = flow.stop_ms {
            writeln!(text, "stop = \"{}ms\"", flow.start_ms + stop).expect("a text takes all");
        }
    }
    text
}
