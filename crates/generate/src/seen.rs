//! The keys that the network engines see, with their values.

use link::{Change, Framing, Marking, Settings};
use scenario::model::{self, Forwarding, Scenario};

/// Keys with their values, as far as the network engines see them.
pub fn seen(scenario: &Scenario) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let Scenario {
        ip,
        nodes,
        links,
        flows,
        // Above both engines, and run on both by their own tests.
        beams: _,
        // Of SCTP, whose tests run both engines.
        addresses: _,
        // Above both engines, and run on both by their own tests.
        tunnels: _,
        // Above both engines, and run on both by their own tests.
        switches: _,
        // Of SCPS-TP: hosts wait for it.
        route_rates: _,
        // Of both engines alike: what is not sent over the network.
        name: _,
        duration: _,
        seed: _,
        phase: _, // it moves `link.event.at`
        epoch: _,
        delay_tolerance: _,
        record: _,
    } = scenario;
    found.push(("ip", format!("{ip:?}")));
    found.push(("flow", flows.len().to_string()));
    for model::Node {
        name: _,
        forwarding,
        middlebox,
        // Its node is a host: the engines see no difference.
        proxy: _,
        // Of messages.
        entry: _,
    } in nodes
    {
        found.push(("node.middlebox", format!("{middlebox:?}")));
        found.push(("node.forwarding", format!("{forwarding:?}")));
        if let Some(Forwarding { rate, buffer }) = forwarding {
            found.push(("node.forwarding.rate", format!("{rate}")));
            found.push(("node.forwarding.buffer", format!("{buffer}")));
        }
    }
    for model::Link { name: _, ends, forward, backward, header_compression, mtu } in links {
        found.push(("link.between", format!("{ends:?}")));
        found.push(("link.header_compression", format!("{header_compression:?}")));
        found.push(("link.mtu", format!("{mtu:?}")));
        direction(forward, &mut found);
        direction(backward, &mut found);
    }
    found
}

fn direction(direction: &Settings, found: &mut Vec<(&'static str, String)>) {
    let Settings {
        rate,
        delay,
        jitter,
        queue,
        low_priority,
        ecn_marking,
        aqm,
        arq,
        fec,
        feedback,
        demand,
        framing: Framing { overhead, min_packet, cells },
        shaper,
        policer,
        channel,
        trace,
        timeline,
        reorder,
        reordering,
        duplication,
        slots,
    } = direction;
    found.push(("link.rate", rate.to_string()));
    found.push(("link.delay", delay.to_string()));
    found.push(("link.jitter", format!("{jitter:?}")));
    found.push(("link.queue", format!("{queue:?}")));
    found.push(("link.queue.low_priority", format!("{low_priority:?}")));
    found.push(("link.overhead", overhead.to_string()));
    found.push(("link.min_packet", min_packet.to_string()));
    found.push(("link.cells", format!("{cells:?}")));
    found.push(("link.shaper", format!("{shaper:?}")));
    found.push(("link.policer", format!("{policer:?}")));
    found.push(("link.channel", format!("{channel:?}")));
    if let Some(Marking { packets, weight }) = ecn_marking {
        found.push(("link.ecn_marking.packets", packets.to_string()));
        found.push(("link.ecn_marking.weight", weight.to_string()));
    }
    found.push(("link.aqm", format!("{:?}", aqm.map(|aqm| aqm.name()))));
    found.push(("link.trace", trace.timeline.changes().len().to_string()));
    found.push(("link.trace.phase", trace.phase.to_string()));
    found.push(("link.reorder", reorder.to_string()));
    found.push(("link.reorder.probability", format!("{reordering:?}")));
    found.push(("link.duplicate", format!("{duplication:?}")));
    found.push(("link.slot", format!("{slots:?}")));
    found.push(("link.arq", format!("{arq:?}")));
    found.push(("link.fec", format!("{fec:?}")));
    found.push(("link.feedback", format!("{feedback:?}")));
    found.push(("link.demand", format!("{demand:?}")));
    for Change { at, every, rate, delay, outage, loss } in trace.timeline.changes() {
        found.push(("link.trace.at", format!("{at} {every:?}")));
        found.push(("link.trace.values", format!("{rate:?} {delay:?} {outage:?}")));
        found.push(("link.trace.loss", format!("{loss:?}")));
    }
    for Change { at, every, rate, delay, outage, loss: _ } in timeline.changes() {
        found.push(("link.event.at", at.to_string()));
        found.push(("link.event.every", format!("{every:?}")));
        found.push(("link.event.rate", format!("{rate:?}")));
        found.push(("link.event.delay", format!("{delay:?}")));
        found.push(("link.event.outage", format!("{outage:?}")));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::{flows, hops, scenario};

    #[test]
    fn every_key_that_the_engines_see_has_several_values() {
        let mut runner = TestRunner::deterministic();
        let mut values: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for number in 0..200 {
            let hops = hops().new_tree(&mut runner).unwrap().current();
            let flows = flows().new_tree(&mut runner).unwrap().current();
            let [forwarding, ipv6] = [number % 2 == 0, number % 3 == 0];
            let text = scenario(&hops, &flows, forwarding, None, ipv6);
            let scenario = Scenario::parse(&text, "random.toml", &[]).unwrap();
            for (key, value) in seen(&scenario) {
                values.entry(key).or_default().insert(value);
            }
        }
        let constant: Vec<_> = values.iter().filter(|(_, all)| all.len() < 2).collect();
        assert_eq!(constant, []);
    }
}
