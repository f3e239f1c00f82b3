//! Lengths of outer packets, MTUs, and set-ups over links that lose messages.

use units::{Span, Time};
use wire::IpVersion::{V4, V6};

use super::*;

fn named(name: &str) -> Tunnel {
    Tunnel::all().into_iter().find(|one| one.name() == name).unwrap()
}

/// The protocol's page: 60 bytes with IPv4, 80 with IPv6; padding to 16 and never beyond the MTU.
#[test]
fn wireguard_pads_to_16_bytes_but_not_beyond_its_mtu() {
    let tunnel = named("wireguard");
    let mtu = tunnel.usual_mtu(V4, 1500);
    assert_eq!(mtu, 1420);
    for (inner, padded) in [(1420, 1420), (1419, 1420), (1408, 1408), (1393, 1408), (40, 48)] {
        assert_eq!(tunnel.outer(V4, inner, mtu), padded + 60, "{inner}");
        assert_eq!(tunnel.outer(V6, inner, mtu), padded + 80, "{inner}");
    }
    assert_eq!(tunnel.largest_mtu(V4, 1500), 1440);
    // 1368 bytes of payload with timestamps in 1480.
    let efficiency = f64::from(mtu - 52) / f64::from(tunnel.outer(V4, mtu, mtu));
    assert!((efficiency - 0.924).abs() < 5e-4, "{efficiency}");
}

/// RFC 4303 section 2.4: pad length and next header end a word.
#[test]
fn esp_adds_54_to_57_bytes() {
    let tunnel = named("esp");
    let added: Vec<_> = (1400..1404).map(|inner| tunnel.outer(V4, inner, 1500) - inner).collect();
    assert_eq!(added, [56, 55, 54, 57]);
    let behind_nat = Tunnel::Esp(EspSettings { nat_traversal: true, ..EspSettings::default() });
    assert_eq!(behind_nat.outer(V4, 1400, 1500), tunnel.outer(V4, 1400, 1500) + 8);
    assert_eq!([tunnel.usual_mtu(V4, 1500), behind_nat.usual_mtu(V4, 1500)], [1446, 1438]);
}

#[test]
fn openvpn_and_masque_add_constant_bytes() {
    assert_eq!(named("openvpn").outer(V4, 1000, 1500), 1052);
    // mssfix, and not what the path takes.
    assert_eq!(named("openvpn").usual_mtu(V4, 1500), 1440);
    assert_eq!(named("openvpn").usual_mtu(V4, 1400), 1348);
    assert_eq!(named("masque").outer(V4, 1000, 1500), 1060);
    let method = MasqueMethod::ConnectUdp;
    let datagrams = Tunnel::Masque(MasqueSettings { method, ..MasqueSettings::default() });
    assert_eq!(datagrams.outer(V4, 1000, 1500), 1032);
    assert!(datagrams.carries_udp_only() && !named("masque").carries_udp_only());
}

#[test]
fn the_usual_mtu_of_each_protocol_fits_every_path() {
    for tunnel in Tunnel::all() {
        for ip in [V4, V6] {
            for path in [576, 1280, 1492, 1500, 9000, u16::MAX] {
                let mtu = tunnel.usual_mtu(ip, path);
                assert!(tunnel.outer(ip, mtu, mtu) <= path, "{} {path}", tunnel.name());
                assert!(mtu <= tunnel.largest_mtu(ip, path));
            }
        }
    }
}

/// Plays a set-up with a delay of 300 ms one way. `lost` are the numbers of messages that vanish.
/// Returns when each end may send.
fn play(tunnel: &Tunnel, lost: &[usize]) -> [Time; 2] {
    let delay = Span::from_millis(300);
    let flights = tunnel.flights();
    let mut set_up = SetUp::new(flights, false);
    let mut on_the_way: std::collections::VecDeque<(Time, Message)> = Default::default();
    let (mut sent, mut open) = (0, [Time::NEVER; 2]);
    let mut now = Time::ZERO;
    let mut action = set_up.on_packet(now, 1);
    assert_eq!(set_up.on_packet(now, 0), SetUpAction::None, "one end begins");
    loop {
        if let SetUpAction::Send(flight) = action {
            for part in 0..flights.bytes[usize::from(flight)].len() {
                if !lost.contains(&sent) {
                    on_the_way.push_back((now + delay, Message { flight, part: part as u8 }));
                }
                sent += 1;
            }
        }
        for (end, at) in open.iter_mut().enumerate() {
            if set_up.is_open(end) && *at == Time::NEVER {
                *at = now;
            }
        }
        let arrival = on_the_way.front().map_or(Time::NEVER, |(at, _)| *at);
        if arrival.min(set_up.deadline()) == Time::NEVER {
            return open;
        }
        if arrival <= set_up.deadline() {
            let (at, message) = on_the_way.pop_front().unwrap();
            now = at;
            action = set_up.on_message(now, message);
        } else {
            now = set_up.deadline();
            action = SetUpAction::Send(set_up.on_deadline(now));
        }
    }
}

fn ms(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

#[test]
fn a_set_up_takes_its_round_trips() {
    for (name, trips) in [("wireguard", 1), ("esp", 2), ("openvpn", 4), ("masque", 2)] {
        let tunnel = named(name);
        assert_eq!(tunnel.flights().round_trips(), trips);
        let [answers, begins] = play(&tunnel, &[]);
        assert_eq!(ms(begins), trips as u64 * 600, "{name}");
        // WireGuard's responder waits for a packet.
        let expected = if name == "wireguard" { Time::NEVER } else { begins };
        let earlier =
            if expected == Time::NEVER { answers } else { answers + Span::from_millis(300) };
        assert_eq!(earlier, expected, "{name}");
    }
}

#[test]
fn lost_messages_are_repeated_whichever_they_are() {
    for tunnel in Tunnel::all() {
        let flights = tunnel.flights();
        let [_, best] = play(&tunnel, &[]);
        let messages: usize = flights.bytes.iter().map(|flight| flight.len()).sum();
        for lost in 0..messages {
            let [_, begins] = play(&tunnel, &[lost]);
            assert!(begins != Time::NEVER && begins > best, "{} {lost}", tunnel.name());
        }
        // The first message twice: WireGuard tries again after 5 s each time.
        let [_, late] = play(&tunnel, &[0, 1]);
        let factor = if flights.backs_off { 3 } else { 2 };
        assert_eq!(late, best + flights.timeout.times(factor), "{}", tunnel.name());
    }
}

#[test]
fn an_end_that_hears_a_packet_may_send() {
    let mut set_up = SetUp::new(named("wireguard").flights(), false);
    assert!(!set_up.is_open(0));
    assert!(set_up.on_arrival(0));
    assert!(set_up.is_open(0) && !set_up.on_arrival(0));
    let established = SetUp::new(named("wireguard").flights(), true);
    assert!(established.is_open(0) && established.is_open(1));
}
