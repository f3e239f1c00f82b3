//! Rules of the spoofing proxy.

use super::*;
use crate::header::SackBlocks;
use crate::tests::{Plain, ack, at, data, drive};

fn with(flags: u8, packet: Plain) -> Plain {
    Plain(Header { flags, payload: 0, ..packet.0 })
}

/// The handshake of a connection whose sender opens it, and the receiver's first ACK.
fn opened() -> Vec<(u64, Plain)> {
    let syn = with(flags::SYN, data(u32::MAX, 0));
    let answer = with(flags::SYN | flags::ACK, ack(0));
    let window = |number| Plain(Header { window: 60_000, sequence: 1, ..ack(number).0 });
    vec![(0, syn), (1, answer), (2, data(0, 1000)), (3, window(1000))]
}

fn acked(number: u32) -> Plain {
    Plain(Header { window: 60_000, sequence: 1, ..ack(number).0 })
}

fn counted(
    settings: SpoofingSettings,
    packets: Vec<(u64, Plain)>,
    until: u64,
) -> (Vec<(u64, char, u32)>, Vec<u64>) {
    let mut device = Spoofing::new(settings);
    let packets = packets.into_iter().map(|(time, packet)| (at(time), packet));
    let say = |(time, packet): (Time, Plain)| {
        let time = time.as_nanos() / 1_000_000;
        match packet.0.payload {
            0 => (time, 'a', packet.0.acknowledgement),
            _ => (time, 'd', packet.0.sequence),
        }
    };
    let out = drive(&mut device, packets, at(until)).into_iter().map(say).skip(4).collect();
    (out, Device::<Plain>::counts(&device).into_iter().map(|(_, count)| count).collect())
}

#[test]
fn data_in_order_is_acknowledged_at_once_and_the_promise_is_kept() {
    let mut packets = opened();
    packets.extend([(10, data(1000, 1000)), (11, data(2000, 1000)), (500, acked(3000))]);
    let (out, counts) = counted(SpoofingSettings::default(), packets, 600);
    let first = [(10, 'a', 2000), (10, 'd', 1000), (11, 'a', 3000), (11, 'd', 2000)];
    assert_eq!(out[..4], first);
    assert_eq!(counts[..3], [2, 2, 0]);
}

#[test]
fn what_the_hop_loses_is_repaired_and_its_duplicate_acks_do_not_pass() {
    let mut packets = opened();
    packets.extend((1..6).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
    packets.extend([(300, acked(1000)), (301, acked(1000)), (302, acked(1000))]);
    packets.push((600, acked(6000)));
    let (out, counts) = counted(SpoofingSettings::default(), packets, 700);
    assert_eq!(out[10..12], [(302, 'd', 1000), (600, 'a', 6000)]);
    assert_eq!(counts, [5, 5, 0, 1, 3]);
}

/// An echo lasts until the sender has answered it, and a count is news when it changes (RFC 9768).
#[test]
fn acks_with_marks_pass_and_those_with_the_same_count_of_marks_do_not() {
    let report = |marks: u8, accurate| {
        Plain(Header { flags: flags::ACK | marks, accurate, ..acked(1000).0 })
    };
    let passed = |reports: [Plain; 4]| {
        let mut packets = opened();
        packets.extend((1..6).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
        packets.extend((300..).zip(reports));
        let (out, _) =
            counted(SpoofingSettings { dupacks: 9, ..SpoofingSettings::default() }, packets, 400);
        out[10..].iter().map(|one| one.0).collect::<Vec<_>>()
    };
    let (echo, none) = (report(flags::ECE, false), report(0, false));
    assert_eq!(passed([echo.clone(), echo.clone(), none, echo]), [300, 301, 303]);
    let (five, six) = (report(flags::ECE, true), report(flags::CWR, true));
    let zero = report(0, false);
    assert_eq!(passed([five.clone(), five, six, zero]), [300, 302, 303]);
}

#[test]
fn several_losses_are_found_by_sack() {
    let mut packets = opened();
    packets.extend((1..9).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
    let sack = SackBlocks::new([(4000, 7000)]);
    packets.push((300, Plain(Header { sack, ..acked(1000).0 })));
    let (out, _) = counted(SpoofingSettings::default(), packets, 400);
    // Two for each ACK; the third comes with the next one.
    assert_eq!(out[16..], [(300, 'd', 1000), (300, 'd', 2000)]);
}

#[test]
fn a_repair_that_is_not_acknowledged_is_repeated_ever_more_rarely() {
    let mut packets = opened();
    packets.extend([(10, data(1000, 1000)), (20, acked(2000))]);
    packets.extend((2..7).map(|n| (29 + u64::from(n), data(n * 1000, 1000))));
    // The round trip was 10 ms. Now a duplicate ACK comes every 10 ms, as from needless repairs.
    packets.extend((0..30).map(|n| (50 + 10 * n, acked(2000))));
    let (out, _) = counted(SpoofingSettings::default(), packets, 345);
    let repairs: Vec<u64> =
        out.iter().filter(|one| one.0 >= 50 && one.1 == 'd').map(|one| one.0).collect();
    assert_eq!(repairs, [70, 90, 120, 170, 270]);
}

#[test]
fn the_promise_ends_with_the_store_and_so_does_the_window() {
    let settings = SpoofingSettings { store: Bytes(2500), ..SpoofingSettings::default() };
    let mut packets = opened();
    packets.extend((1..5).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
    let (out, counts) = counted(settings, packets, 100);
    assert_eq!(out.iter().filter(|one| one.1 == 'a').count(), 2);
    assert_eq!(counts[0], 2);
}

#[test]
fn a_hole_and_a_fin_are_not_acknowledged() {
    let mut packets = opened();
    let fin = Plain(Header { flags: flags::ACK | flags::FIN, ..data(1000, 1000).0 });
    packets.extend([(10, data(2000, 1000)), (11, fin)]);
    let (out, counts) = counted(SpoofingSettings::default(), packets, 100);
    assert_eq!(out, [(10, 'd', 2000), (11, 'd', 1000)]);
    assert_eq!(counts[0], 0);
}

#[test]
fn a_gateway_that_dies_breaks_what_the_receiver_does_not_acknowledge() {
    let dies_at = Some(Span::from_millis(15));
    let settings = SpoofingSettings { dies_at, ..SpoofingSettings::default() };
    let mut packets = opened();
    packets.extend((1..4).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
    packets.extend((0..9).map(|n| (300 + n, acked(2000))));
    let (out, counts) = counted(settings, packets, 100_000);
    assert_eq!(out.iter().filter(|one| one.0 >= 300).count(), 9, "all pass, no repair");
    assert_eq!(counts, [3, 1, 2, 0, 0]);
}

#[test]
fn a_connection_whose_syn_has_not_passed_is_left_alone() {
    let packets = opened().split_off(2);
    let (_, counts) = counted(SpoofingSettings::default(), packets, 100_000);
    assert_eq!(counts, [0; 5]);
}

/// RFC 7323 section 2.2: windows are scaled if both SYNs have the option, by that of the end that
/// has the window.
#[test]
fn windows_are_scaled_as_both_ends_have_agreed() {
    let scaled = |window_scale, packet: &Plain| Plain(Header { window_scale, ..packet.0 });
    for (sender, receiver, field) in [
        // 40,000 bytes behind 1000, of which 1000 are promised.
        (Some(3), Some(2), 9750),
        (Some(3), None, 9000),
        (None, Some(2), 9000),
    ] {
        let [syn, answer, first, _] = <[_; 4]>::try_from(opened()).unwrap();
        let packets = [
            (0, scaled(sender, &syn.1)),
            (1, scaled(receiver, &answer.1)),
            first,
            (3, Plain(Header { window: 10_000, ..acked(1000).0 })),
            (10, data(1000, 1000)),
        ];
        let packets = packets.map(|(time, packet)| (at(time), packet));
        let out = drive(&mut Spoofing::new(SpoofingSettings::default()), packets, at(20));
        let Plain(ack) = &out[4].1;
        assert_eq!((ack.acknowledgement, ack.window), (2000, field), "{sender:?} {receiver:?}");
    }
}

#[test]
fn a_reset_breaks_the_promises_of_its_connection() {
    let mut packets = opened();
    packets.extend([(10, data(1000, 1000)), (11, data(2000, 1000))]);
    packets.push((20, with(flags::RST, data(3000, 0))));
    let (_, counts) = counted(SpoofingSettings::default(), packets, 100_000);
    assert_eq!(counts[..3], [2, 0, 2]);
}

#[test]
fn a_sender_that_waits_for_the_store_gets_its_larger_window() {
    let settings = SpoofingSettings { store: Bytes(4000), ..SpoofingSettings::default() };
    let mut packets = opened();
    packets.extend((1..5).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
    packets.extend([(100, acked(1500)), (101, acked(3000))]);
    let (out, counts) = counted(settings, packets, 110);
    // Half a segment is less than a quarter of the store.
    assert_eq!(out[8..], [(101, 'a', 5000)]);
    assert_eq!(counts[4], 1);
}

/// RFC 6298 sections 2 and 5: a second at first, twice as long after each expiry, and no sample of
/// what was retransmitted.
#[test]
fn the_timer_waits_a_second_and_doubles_until_there_is_a_sample() {
    let mut packets = opened();
    packets.push((10, data(1000, 1000)));
    let repairs = |packets, until| {
        let (out, _) = counted(SpoofingSettings::default(), packets, until);
        let data = out.into_iter().filter(|one| one.1 == 'd');
        data.map(|one| one.0).collect::<Vec<_>>()
    };
    assert_eq!(repairs(packets.clone(), 8000), [10, 1010, 3010, 7010]);
    packets.extend([(1020, acked(2000)), (1100, data(2000, 1000))]);
    assert_eq!(repairs(packets, 2200), [10, 1010, 1100, 2100]);
}

/// RFC 6582: behind a repair each partial ACK shows the next loss.
#[test]
fn a_partial_ack_repairs_the_next_loss() {
    let mut packets = opened();
    packets.extend((1..7).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
    packets.extend((300..303).map(|time| (time, acked(1000))));
    packets.push((500, acked(3000)));
    let (out, _) = counted(SpoofingSettings::default(), packets, 501);
    let repairs: Vec<_> = out.into_iter().filter(|one| one.0 >= 300 && one.1 == 'd').collect();
    assert_eq!(repairs, [(302, 'd', 1000), (500, 'd', 3000)]);
}

/// The receiver discards values that are older than the last one (RFC 7323 section 5).
#[test]
fn a_repair_has_the_latest_timestamp_of_the_sender() {
    let stamped = |value, packet: Plain| Plain(Header { timestamps: Some((value, 0)), ..packet.0 });
    let mut packets = opened();
    packets.extend((1..7).map(|n| (9 + u64::from(n), stamped(n, data(n * 1000, 1000)))));
    packets.extend((300..303).map(|time| (time, acked(1000))));
    let packets = packets.into_iter().map(|(time, packet)| (at(time), packet));
    let out = drive(&mut Spoofing::new(SpoofingSettings::default()), packets, at(302));
    let (time, Plain(repair)) = out.last().unwrap();
    assert_eq!((*time, repair.sequence, repair.timestamps), (at(302), 1000, Some((6, 0))));
}
