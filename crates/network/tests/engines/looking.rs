//! Many events at once, as a run takes them, and one at a time.

use generate::{RandomDirection, changing, managed, micros, prioritised};
use link::Priority;
use network::{Advance, Delivery, Ecn, Fabric, Network, NodeId, Packet, PortReport};
use proptest::prelude::*;
use units::Time;

use super::{Sending, cases, chain, sendings};

/// Deliveries, times of stops with the events until then, and all events.
type Seen = (Vec<(Time, u32)>, Vec<(Time, u64)>);

/// Lets all happen until `until`; one event at a time, or many.
fn deliver(network: &mut Network<u32>, until: Time, many: bool, seen: &mut Seen) {
    let (deliveries, stops) = seen;
    let mut events = stops.last().map_or(0, |(_, events)| *events);
    while network.next_event() <= until && network.next_event() != Time::NEVER {
        if many {
            let Advance { at, events: more, seen, .. } =
                network.advance_and_look(until, |at, packet, _| (at, packet.body));
            assert!(at <= until, "{at} is after {until}");
            events += more;
            deliveries.extend(seen);
        } else {
            events += 1;
            let delivered = network.advance();
            deliveries.extend(delivered.map(|Delivery { at, packet }| (at, packet.body)));
        }
    }
    stops.push((until, events));
}

fn run(hops: &[RandomDirection], sendings: &[Sending], many: bool) -> Seen {
    let mut network = Network::new(chain(hops));
    let to = NodeId(hops.len() as u16);
    let (mut seen, mut now) = (Seen::default(), Time::ZERO);
    for (body, (wait, bytes, _)) in (0..).zip(sendings) {
        now += micros(*wait);
        deliver(&mut network, now, many, &mut seen);
        let (flow, bytes) = (body % 3, *bytes);
        let (priority, ecn) = (Priority::Normal, Ecn::Capable);
        let packet = Packet { body, flow, to, bytes, priority, ecn };
        network.send_copy(now, NodeId(0), &packet);
    }
    deliver(&mut network, Time::from_nanos(u64::MAX - 1), many, &mut seen);
    seen
}

/// Likewise many events at once, with reports of ports after each of the packets. With `passes`
/// hosts are only at both ends of the chain, and packets may pass the nodes between without an
/// event.
fn run_with_reports(
    hops: &[RandomDirection],
    sendings: &[Sending],
    passes: bool,
) -> (Seen, Vec<(Vec<PortReport>, u64)>) {
    let mut network = Network::new(chain(hops));
    let to = NodeId(hops.len() as u16);
    if passes {
        network.expect_only(&[[NodeId(0), to]]);
    }
    let (mut seen, mut reports, mut now) = (Seen::default(), Vec::new(), Time::ZERO);
    for (body, (wait, bytes, low)) in (0..).zip(sendings) {
        now += micros(*wait);
        deliver(&mut network, now, true, &mut seen);
        if wait % 2 == 0 {
            // All that happens by now, those at the same time included.
            network.settle(now, u32::MAX);
            let events = seen.1.last().map_or(0, |(_, events)| *events) + network.settled();
            reports.push((network.report(now), events + network.hops()));
        }
        let priority = if *low { Priority::Low } else { Priority::Normal };
        let (flow, ecn) = (body % 3, Ecn::Capable);
        let packet = Packet { body, flow, to, bytes: *bytes, priority, ecn };
        network.send_copy(now, NodeId(0), &packet);
    }
    let end = Time::from_nanos(u64::MAX - 1);
    deliver(&mut network, end, true, &mut seen);
    network.settle(end, u32::MAX);
    let events = seen.1.last().map_or(0, |(_, events)| *events) + network.settled();
    reports.push((network.report(end), events + network.hops()));
    seen.1.clear();
    (seen, reports)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn packets_pass_without_an_event_as_with_one(
        hops in prop::collection::vec(
            prop_oneof![4 => prioritised().prop_map(RandomDirection::plain), 1 => managed()],
            1..5,
        ),
        sendings in sendings(),
    ) {
        let [without, with] =
            [true, false].map(|passes| run_with_reports(&hops, &sendings, passes));
        prop_assert_eq!(without, with);
    }

    #[test]
    fn many_events_at_once_are_those_that_happen_one_at_a_time(
        hops in prop::collection::vec(prop_oneof![prioritised(), changing(), managed()], 1..4),
        sendings in sendings(),
    ) {
        prop_assert_eq!(run(&hops, &sendings, true), run(&hops, &sendings, false));
    }
}
