//! What a scenario becomes.

use crate::model::{Channel, QueueLimit, Traffic};
use crate::{Override, Scenario};
use congestion::Recovery;
use units::{Bytes, Rate, Span};

const GEO: &str = r#"
name = "geo-download"
duration = "1200s"
seed = 1

[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "10ms"

[[link]]
between = ["gateway", "client"]
delay = "250ms"
forward  = { rate = "2Mbit/s", queue = { packets = 64 } }
backward = { rate = "256kbit/s" }
channel  = { ber = 1e-7 }

[[flow]]
from = "server"
to = "client"
controller = "adalr"
transport = { recovery = "sack", mss = 1460, receive_buffer = "65535B", delayed_ack = "200ms" }
traffic = { download = "50MB" }
"#;

fn geo(sets: &[&str]) -> Scenario {
    let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
    Scenario::parse(GEO, "geo.toml", &sets).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn the_scenario_of_the_design_is_what_it_says() {
    let scenario = geo(&[]);
    assert_eq!(scenario.name, "geo-download");
    assert_eq!(scenario.duration, Span::from_secs(1200));
    let names: Vec<_> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["server", "gateway", "client"]);
    let link = &scenario.links[1];
    assert_eq!(link.name, "gateway-client");
    assert_eq!(link.forward.rate, Rate::from_bits_per_second(2_000_000));
    assert_eq!(link.forward.queue, QueueLimit::Packets(64));
    assert_eq!(link.backward.rate, Rate::from_bits_per_second(256_000));
    assert_eq!(link.backward.queue, QueueLimit::Packets(100));
    let errors = Channel::BitErrors { ber: 1e-7, correction_threshold: 0.0 };
    assert_eq!((link.forward.channel, link.backward.channel), (errors, errors));
    let flow = &scenario.flows[0];
    assert_eq!(flow.controller.entry().name, "adalr");
    assert_eq!(flow.transport.recovery, Recovery::Sack);
    assert_eq!(flow.transport.delayed_ack.segments, 2);
    let download = Traffic::Download { size: Bytes(50_000_000), request: Bytes(0) };
    assert_eq!(flow.traffic, download);
}
