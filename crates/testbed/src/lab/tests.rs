use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};
use serde_json::json;

use super::*;
use crate::settings::tests::kernel_of;
use crate::{plan, sys};

const PINGS: u16 = 5;

/// Round trip of an ICMP echo to `to`, which the kernel there answers itself (RFC 792, RFC 4443
/// section 4).
fn ping(lab: &Lab<'_>, to: IpAddr, sequence: u16) -> Result<f64, KernelError> {
    let doing = || format!("ping {to}");
    // Types of the echo and of its answer, and the header that stands before the answer: a raw
    // socket shows that of IPv4 only (raw(7)).
    let (family, protocol, [asks, answers], header) = match to {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, [8, 0], 20),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, [128, 129], 0),
    };
    let icmp = socket(family, SocketType::RAW, Some(protocol)).doing(doing)?;
    set_socket_timeout(&icmp, Timeout::Recv, Some(Duration::from_secs(2))).doing(doing)?;
    let [high, low] = sequence.to_be_bytes();
    // That of ICMPv6, over addresses as well, is the kernel's (RFC 3542 section 3.1).
    let [checksum_high, checksum_low] = (!(0x0800 + sequence)).to_be_bytes();
    let echo = [asks, 0, checksum_high, checksum_low, 0, 0, high, low];
    let start = lab.clock.now();
    let to = SocketAddr::new(to, 0);
    sendto(&icmp, &echo, SendFlags::empty(), &to).doing(doing)?;
    let mut answer = [0; 64];
    loop {
        recv(&icmp, &mut answer[..], RecvFlags::empty()).doing(doing)?;
        let answer = &answer[header..];
        if answer[0] == answers && answer[6..8] == [high, low] {
            return Ok(lab.clock.now().since(start).as_millis_f64());
        }
    }
}

/// How often threads wake up for a ping: that of the emulator when a packet comes and when it is
/// due, both twice, and then the one that pings.
const WAKE_UPS: f64 = 5.0;

/// The median is `expected` to a millisecond, if threads wake up at once. On a machine where they
/// do not, each wake-up may be as late as the emulator was for three quarters of its packets, which
/// the run reports.
fn assert_to_a_millisecond(rtts: &[f64], expected: f64, emulation: &Emulation) {
    let late = emulation.emulated.lateness.percentile(75).as_millis_f64();
    assert!(rtts[0] >= expected, "{rtts:?} instead of {expected}");
    let most = expected + 1.0 + WAKE_UPS * late;
    assert!(rtts[rtts.len() / 2] < most, "{rtts:?} instead of {expected}, {late} ms late");
}

/// Round trips from the first host to the second, the shortest first.
fn pings(scenario: &Scenario) -> (Vec<f64>, Emulation) {
    let plan = plan::plan(scenario, &kernel_of(&["cubic"])).unwrap();
    let to = runtime::address(plan.hosts[1].node, scenario.ip);
    let (mut rtts, emulation) = with_network(scenario, 1, &plan, None, None, |lab| {
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
    for (ip, bytes) in [("ipv4", 28.0), ("ipv6", 48.0)] {
        let scenario = crate::tests::scenario(json!({
            "ip": ip,
            "link": [{ "between": ["server", "client"], "rate": "10Mbit/s", "delay": "250ms" }],
            "flow": [{ "from": "server", "to": "client", "controller": "cubic",
                       "traffic": { "bulk": "1B" } }],
        }));
        let (rtts, emulation) = pings(&scenario);
        // There and back at 10 Mbit/s.
        let expected = 500.0 + 2.0 * bytes * 8.0 / 10e3;
        assert_to_a_millisecond(&rtts, expected, &emulation);
        // The pings and nothing else: no host looks for neighbours, routers or its own address.
        assert_eq!(emulation.emulated.lateness.count(), 2 * u64::from(PINGS), "{ip}");
        assert_eq!(emulation.emulated.strays, 0, "{ip}");
    }
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
    let (rtts, emulation) = pings(&scenario);
    // 28 bytes take 0.224 ms at 1 Mbit/s, three times, and 2.24 ms at 100 kbit/s.
    let expected = 80.0 + 3.0 * 0.224 + 2.24;
    assert_to_a_millisecond(&rtts, expected, &emulation);
}
