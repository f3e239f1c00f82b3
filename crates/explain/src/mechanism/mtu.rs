//! The MTU of a link before a run: segments after discovery, what it costs, and black holes.

use transport::MtuProbing;

use super::{Mechanism, Side};
use crate::settings::{Amount, Setting};
use crate::warnings::WarningKind as Kind;
use scenario::model::{Icmp, Mtu};

/// The MTU.
pub(crate) const MECHANISM: Mechanism =
    Mechanism { key: "mtu", heading: "MTU", value: |_| None, details, warnings };

/// Data of one leg of a flow that crosses a hop.
struct Crossing<'a> {
    flow: &'a str,
    probing: MtuProbing,
    /// The size that both ends agree on, without options.
    mss: u64,
    /// The full packet of that.
    packet: u64,
    /// Bytes of options in each segment.
    options: u64,
}

/// The data of all flows that crosses a direction.
fn crossings<'a>(side: &Side<'a>) -> Vec<Crossing<'a>> {
    let Side { scenario, routes, hop, .. } = *side;
    let flows = side.flows.iter().map(|(explained, flow)| (explained.name.as_str(), *flow));
    let legs = flows.flat_map(|(name, flow)| {
        let stops = flow.stops();
        let of_gateways =
            |side: usize| flow.gateways.iter().map(move |gateway| &gateway.ends[side].transport);
        let senders: Vec<_> = [&flow.transport].into_iter().chain(of_gateways(1)).collect();
        let receivers: Vec<_> = of_gateways(0).chain([&flow.transport]).collect();
        let ends = senders.into_iter().zip(receivers);
        let leg = |(place, (sender, receiver)): (usize, _)| {
            (name, stops[place], stops[place + 1], sender, receiver)
        };
        ends.enumerate().map(leg).collect::<Vec<_>>()
    });
    let crosses = |from: usize, to: usize| routes.path(from, to, &scenario.links).contains(&hop);
    legs.filter(|(_, from, to, ..)| crosses(*from, *to))
        .filter_map(|(flow, _, _, sender, receiver)| {
            let (sender, receiver) = (sender.tcp()?, receiver.tcp()?);
            let mss = u64::from(sender.mss.min(receiver.mss));
            let options = sender.timestamps_bytes().min(receiver.timestamps_bytes()).into();
            let packet = mss + scenario.headers();
            Some(Crossing { flow, probing: sender.mtu_probing, mss, packet, options })
        })
        .collect()
}

/// The MTU of a direction, if it has one.
fn mtu(side: &Side<'_>) -> Option<Mtu> {
    side.link().mtu[usize::from(!side.hop.forward)]
}

fn details(side: &Side<'_>) -> Vec<Setting> {
    let Some(Mtu { bytes, icmp }) = mtu(side) else { return Vec::new() };
    let largest = u64::from(bytes) - side.scenario.headers();
    let crossing = crossings(side);
    let longer: Vec<_> = crossing.iter().filter(|one| one.packet > u64::from(bytes)).collect();
    let options = crossing.iter().map(|one| one.options).max().unwrap_or(0);
    let text = format!("{}B of payload at most, an MSS of {largest}B", largest - options);
    let setting = |name: &str, value: u64, text: String| {
        Setting::new(name, Amount::from(value as f64), text, true)
    };
    let probed = |probing: MtuProbing| longer.iter().filter(|one| one.probing == probing).count();
    let [silent, late, early] =
        [MtuProbing::Off, MtuProbing::BlackHole, MtuProbing::Always].map(probed);
    let effect = match icmp {
        _ if longer.is_empty() => "no data is longer".to_owned(),
        Icmp::Sent => {
            "the first window of each connection is retransmitted in smaller segments, after the \
             round trip to this node"
                .to_owned()
        }
        Icmp::Filtered => format!(
            "packets vanish: {silent} flows never pass, {late} pass after 3s of timeouts, {early} find \
             the size by probes"
        ),
    };
    let longest = longer.iter().map(|one| one.mss).max().unwrap_or(0);
    vec![setting("segments", largest - options, text), setting("longer data", longest, effect)]
}

fn warnings(side: &Side<'_>) -> Vec<(Kind, String)> {
    let Some(Mtu { bytes, icmp }) = mtu(side) else { return Vec::new() };
    let crossing = crossings(side);
    let lost = |one: &&Crossing<'_>| {
        one.packet > u64::from(bytes) && one.probing == MtuProbing::Off && icmp == Icmp::Filtered
    };
    let lost: Vec<_> = crossing.iter().filter(lost).map(|one| one.flow).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "a black hole for {}: packets of more than {bytes}B vanish and ICMP is filtered, so the connection opens, \
         but no full segment arrives; `transport.mtu_probing = \"black-hole\"` or a smaller `mss` helps",
        lost.join(", ")
    );
    vec![(Kind::MtuBlackHole, text)]
}
