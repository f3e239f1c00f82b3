use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};
use serde_json::json;

use super::*;
use crate::{plan, run, sys};

const PINGS: u16 = 5;

/// Round trip of an ICMP echo to `to`, which the kernel there answers itself (RFC 792).
fn ping(lab: &Lab<'_>, to: std::net::Ipv4Addr, sequence: u16) -> Result<f64, KernelError> {
    let doing = || format!("ping {to}");
    let icmp = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).doing(doing)?;
    set_socket_timeout(&icmp, Timeout::Recv, Some(Duration::from_secs(2))).doing(doing)?;
    let [high, low] = sequence.to_be_bytes();
    let [checksum_high, checksum_low] = (!(0x0800 + sequence)).to_be_bytes();
    let echo = [8, 0, checksum_high, checksum_low, 0, 0, high, low];
    let start = lab.clock.now();
    let to = std::net::SocketAddrV4::new(to, 0);
    sendto(&icmp, &echo, SendFlags::empty(), &to).doing(doing)?;
    let mut answer = [0; 64];
    loop {
        recv(&icmp, &mut answer[..], RecvFlags::empty()).doing(doing)?;
        // Behind the IP header: an answer to this echo.
        if answer[20] == 0 && answer[26..28] == [high, low] {
            return Ok(lab.clock.now().since(start).as_millis_f64());
        }
    }
}

/// Round trips from the first host to the second, the shortest first.
fn pings(scenario: &Scenario) -> (Vec<f64>, Emulation) {
    let plan = plan::plan(scenario, &run::kernel().unwrap()).unwrap();
    let to = bed::address(plan.hosts[1].node);
    let (mut rtts, emulation) = with_network(scenario, 1, &plan, None, |lab| {
        lab.namespaces[0].inside(|| {
            let _ = sys::schedule_first(1); // how late this thread wakes is not what is measured
            (1..=PINGS).map(|sequence| ping(lab, to, sequence)).collect::<Result<Vec<_>, _>>()
        })
    })
    .unwrap();
    rtts.sort_by(f64::total_cmp);
    (rtts, emulation)
}

#[test]
fn a_ping_over_a_geostationary_satellite_takes_its_delay_to_a_millisecond() {
    if crate::tests::is_skipped() {
        return;
    }
    let scenario = crate::tests::scenario(json!({
        "link": [{ "between": ["server", "client"], "rate": "10Mbit/s", "delay": "250ms" }],
        "flow": [{ "from": "server", "to": "client", "controller": "cubic",
                   "traffic": { "bulk": "1B" } }],
    }));
    let (rtts, emulation) = pings(&scenario);
    // 28 bytes there and back at 10 Mbit/s.
    let expected = 500.0 + 2.0 * 28.0 * 8.0 / 10e3;
    assert!(rtts[0] >= expected, "{rtts:?}");
    assert!(rtts[rtts.len() / 2] < expected + 1.0, "{rtts:?}");
    assert_eq!(emulation.emulated.lateness.count(), 2 * u64::from(PINGS));
    assert_eq!(emulation.emulated.strays, 0);
}

#[test]
fn two_links_and_a_router_between_add_up() {
    if crate::tests::is_skipped() {
        return;
    }
    let scenario = crate::tests::scenario(json!({
        "link": [
            { "between": ["server", "gateway"], "rate": "1Mbit/s", "delay": "10ms" },
            { "between": ["gateway", "client"], "rate": "1Mbit/s", "delay": "30ms",
              "backward": { "rate": "100kbit/s" } },
        ],
        "flow": [{ "from": "server", "to": "client", "controller": "cubic",
                   "traffic": { "bulk": "1B" } }],
    }));
    let (rtts, _) = pings(&scenario);
    // 28 bytes take 0.224 ms at 1 Mbit/s, three times, and 2.24 ms at 100 kbit/s.
    let expected = 80.0 + 3.0 * 0.224 + 2.24;
    assert!(rtts[0] >= expected, "{rtts:?}");
    assert!(rtts[rtts.len() / 2] < expected + 1.0, "{rtts:?}");
}
