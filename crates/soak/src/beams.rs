//! Packets and slots of beams: what terminals send is received, dropped, lost, or on its way.

use recording::{Recording, Values};
use scenario::Scenario;

use crate::conservation::passed as middlebox;

/// A count that does not add up, if there is one. `sent` and `received` are the packets of each
/// node as a host, and `passed` its connections that crossed a proxy unsplit.
pub(crate) fn imbalance(
    scenario: &Scenario,
    recording: &Recording,
    [sent, received, passed]: [&[u64]; 3],
) -> Option<String> {
    let counts = |name| column(recording, "beam_terminals", name);
    let (packets, dropped) = (counts("packets"), counts("dropped_packets"));
    let lost = counts("lost_packets");
    // Ends of tunnels send messages of their own and discard packets. The recording has these
    // counts for each tunnel, and not for each terminal.
    if !scenario.tunnels.is_empty() {
        return slots(recording);
    }
    let nodes = scenario.beams.iter().flat_map(|beam| beam.terminals.clone());
    // A row for each direction of each terminal, forward before return.
    for (number, node) in nodes.enumerate() {
        let (forward, back) = (2 * number, 2 * number + 1);
        let name = &scenario.nodes[node].name;
        if let Some((came, went)) = middlebox(recording, name) {
            let [of_beam, of_host] = [packets[forward] - lost[forward], sent[node]];
            let to_beam = packets[back] + dropped[back];
            if came > of_beam + of_host || to_beam + received[node] > went {
                let there = received[node];
                return Some(format!(
                    "{name}: {of_beam} and {of_host} came as {came}, \
                     {went} went as {to_beam} and {there}"
                ));
            }
            continue;
        }
        // A connection that the proxy does not split arrives there, and at the host behind it.
        if received[node] > packets[forward] - lost[forward] && passed[node] == 0 {
            let sent = packets[forward];
            return Some(format!("{name} received {} packets of {sent}", received[node]));
        }
        // Random access counts packets as lost that it never sent.
        let handled = packets[back] + dropped[back] + lost[back];
        // The proxy sends a connection on that it does not split, as often as its host asks.
        if handled > sent[node] && passed[node] == 0 {
            return Some(format!("{handled} packets of the {} of {name}", sent[node]));
        }
    }
    slots(recording)
}

/// Slots that carried something and were not assigned.
fn slots(recording: &Recording) -> Option<String> {
    let counts = |name| column(recording, "beams", name);
    for (used, all) in [
        ("cra_used_slots", "cra_slots"),
        ("rate_used_slots", "rate_slots"),
        ("volume_used_slots", "volume_slots"),
        ("random_decoded", "random_bursts"),
    ] {
        for (used_slots, slots) in counts(used).iter().zip(counts(all)) {
            // The last frame may be a part of one, whose slots of constant rate are not counted.
            if *used_slots > slots && used != "cra_used_slots" {
                return Some(format!("{used} is {used_slots}, and {all} is {slots}"));
            }
        }
    }
    None
}

/// Counts of a table; none without it.
fn column(recording: &Recording, table: &str, name: &str) -> Vec<u64> {
    let Some(table) = recording.tables.iter().find(|one| one.name() == table) else {
        return Vec::new();
    };
    let columns = table.columns();
    match columns.iter().find(|column| column.name == name).map(|column| &column.values) {
        Some(Values::U64(counts)) => counts.to_vec(),
        _ => panic!("no counts of {name}"),
    }
}
