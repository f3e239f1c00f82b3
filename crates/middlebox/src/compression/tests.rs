//! Lengths from the RFCs, what a loss takes with it, and decoders written apart from the model.

use proptest::prelude::*;
use units::Span;
use wire::tcp::flags;

use super::*;
use crate::header::{Address, Endpoints, SackBlocks};

const V4: IpVersion = IpVersion::V4;

fn vj() -> HeaderCompression {
    HeaderCompression::Vj(VjSettings::default())
}

fn rohc() -> HeaderCompression {
    HeaderCompression::Rohc(RohcSettings::default())
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// A segment of connection number `connection` without options.
fn segment(connection: u16, sequence: u32, acknowledgement: u32, payload: u32) -> Seen {
    let address = |port| Address { host: 1, port };
    let endpoints = Endpoints { source: address(connection), destination: address(0) };
    let header = Header {
        endpoints,
        sequence,
        acknowledgement,
        window: 8000,
        flags: flags::ACK,
        payload,
        ..Header::default()
    };
    Seen { header: Some(header), bytes: 40 + payload as u16, ecn: Ecn::NotCapable }
}

fn with(seen: Seen, change: impl FnOnce(&mut Header)) -> Seen {
    let mut header = seen.header.unwrap();
    change(&mut header);
    Seen { header: Some(header), ..seen }
}

fn data(number: u32) -> Seen {
    segment(1, 1000 * number, 7, 1000)
}

fn ack(number: u32) -> Seen {
    segment(1, 5, 2000 * number, 0)
}

/// Bytes of the headers on the link.
fn headers(settings: HeaderCompression, packets: impl IntoIterator<Item = Seen>) -> Vec<u16> {
    let mut compressor = Compressor::new(settings, V4);
    let payload = |seen: &Seen| seen.header.map_or(0, |header| header.payload as u16);
    let sent = packets.into_iter().map(|one| compressor.compress(at(0), &one).1 - payload(&one));
    sent.collect()
}

/// Which of the packets are restored, if those of these numbers are lost. Feedback arrives after
/// `delay` packets.
fn restored(
    settings: HeaderCompression,
    packets: &[Seen],
    lost: &[usize],
    delay: usize,
) -> Vec<bool> {
    let mut compressor = Compressor::new(settings, V4);
    let mut decompressor = Decompressor::new(settings);
    let mut messages: Vec<(usize, Feedback)> = Vec::new();
    let mut all = Vec::new();
    for (number, packet) in packets.iter().enumerate() {
        messages.retain(|(due, message)| {
            let is_due = *due <= number;
            if is_due {
                compressor.on_feedback(*message);
            }
            !is_due
        });
        let now = at(10 * number as u64);
        let (coded, _) = compressor.compress(now, packet);
        if lost.contains(&number) {
            all.push(false);
            continue;
        }
        let Restored { is_restored, feedback } = decompressor.restore(now, &coded);
        messages.extend(feedback.map(|message| (number + delay, message)));
        all.push(is_restored);
    }
    all
}

#[test]
fn vj_has_the_lengths_of_rfc_1144() {
    // Data and an echo go on without changes, an ACK changes by two bytes in three, a window in one
    // or three.
    assert_eq!(headers(vj(), (0..3).map(data)), [40, 3, 3]);
    assert_eq!(headers(vj(), (0..3).map(ack)), [40, 6, 6]);
    let typed = (0..3).map(|n| segment(1, n, n, 1));
    assert_eq!(headers(vj(), typed), [40, 3, 3]);
    let window = |window| with(ack(1), |header| header.window = window);
    assert_eq!(headers(vj(), [window(8000), window(8001), window(8000)]), [40, 4, 6]);
    // Another connection is named in one byte.
    let both = [data(0), segment(2, 0, 0, 9), data(1), segment(2, 9, 0, 9)];
    assert_eq!(headers(vj(), both), [40, 40, 4, 4]);
}

#[test]
fn vj_sends_full_headers_for_what_its_mask_does_not_have() {
    let number = |number| move |header: &mut Header| header.timestamps = Some((number, 1));
    let cases = [
        ("a retransmission", data(0)),
        ("a duplicate", data(1)),
        ("timestamps", with(data(2), number(3))),
        ("SACK blocks", with(data(2), |header| header.sack = SackBlocks::new([(9, 10)]))),
        ("ECE", with(data(2), |header| header.flags |= flags::ECE)),
        ("AE", with(data(2), |header| header.accurate = true)),
        ("other options", with(data(2), |header| header.has_more = true)),
        ("a mark", Seen { ecn: Ecn::Marked, ..data(2) }),
        ("a jump of 64 KiB", data(67)),
    ];
    for (case, packet) in cases {
        assert_eq!(headers(vj(), [data(0), data(1), packet])[2], 40, "{case}");
    }
    // Accurate ECN has AE in each header while its count stays the same.
    let accurate = |packet| with(packet, |header| header.accurate = true);
    assert_eq!(headers(vj(), [accurate(data(0)), accurate(data(1))]), [40, 3]);
    // Timestamps that do not change are no obstacle.
    let ticks = [1, 1, 2].map(|tick| with(data(tick), number(tick)));
    let same = [with(data(0), number(1)), with(data(1), number(1))];
    assert_eq!(headers(vj(), same), [40, 3]);
    assert_eq!(headers(vj(), ticks)[2], 40);
}

#[test]
fn with_vj_a_lost_packet_takes_all_until_a_full_header() {
    let mut packets: Vec<_> = (0..8).map(data).collect();
    packets.push(data(2));
    packets.extend((3..6).map(data));
    let found = restored(vj(), &packets, &[2], 0);
    let expected = [true, true, false, false, false, false, false, false, true, true, true, true];
    assert_eq!(found, expected);
}

#[test]
fn with_vj_a_loss_of_another_connection_takes_what_does_not_name_its_own() {
    let other = |number: u32| segment(2, 100 * number, 0, 100);
    let packets = [data(0), other(0), other(1), other(2), data(1), data(2), other(3)];
    let found = restored(vj(), &packets, &[2], 0);
    assert_eq!(found, [true, true, false, false, true, true, false]);
}

/// RFC 1144 section 3.2.2: a change of 1 to 255 takes a byte, and one up to 65,535 three. Data goes
/// on without changes if it is as far ahead as the packet before was long.
#[test]
fn vj_charges_a_change_by_its_size() {
    let acks = |numbers: [u32; 3]| numbers.map(|number| segment(1, 5, number, 0));
    assert_eq!(headers(vj(), acks([0, 255, 511])), [40, 4, 6]);
    assert_eq!(headers(vj(), acks([0, 65_535, 131_071])), [40, 6, 40]);
    let unequal = [data(0), segment(1, 1000, 7, 500), segment(1, 1500, 7, 1000)];
    assert_eq!(headers(vj(), unequal), [40, 3, 3]);
}

/// RFC 1144 section 4: after any loss the packets are tossed that name no connection, also if the
/// lost one was a SYN, which is not compressed.
#[test]
fn with_vj_the_loss_of_an_uncompressed_packet_takes_what_names_no_connection() {
    let syn = with(segment(2, 1, 0, 0), |header| header.flags = flags::SYN);
    let packets = [data(0), data(1), syn, data(2), data(0), data(1)];
    assert_eq!(restored(vj(), &packets, &[2], 0), [true, true, false, false, true, true]);
}

/// RFC 6846 section 5.2.1: what feedback asks for is sent as often as a change is.
#[test]
fn feedback_draws_as_many_refreshes_as_repeats() {
    let mut compressor = Compressor::new(rohc(), V4);
    let mut forms = |number| compressor.compress(at(0), &data(number)).0;
    let (context, connection) =
        (0..9).map(&mut forms).map(|c| (c.context, c.connection)).last().unwrap();
    for (is_static, form) in [(false, Form::Dynamic), (true, Form::Full)] {
        compressor.on_feedback(Feedback { context, connection, is_static });
        let forms: Vec<_> = (9..16).map(|n| compressor.compress(at(0), &data(n)).0.form).collect();
        assert_eq!(forms[..4], [form; 4]);
        assert!(forms[4..].iter().all(|one| matches!(one, Form::Delta { .. })));
    }
}

/// A refresh with everything contains the other kind, which is next due as long after it as after
/// one of its own.
#[test]
fn refreshes_of_both_kinds_come_after_their_numbers_of_packets() {
    let hour = Span::from_secs(3600);
    let settings = RohcUnidirectionalSettings {
        refresh_packets: 100,
        refresh_interval: hour,
        dynamic_packets: 60,
        dynamic_interval: hour,
        ..RohcUnidirectionalSettings::default()
    };
    let mut compressor = Compressor::new(HeaderCompression::RohcUnidirectional(settings), V4);
    let forms: Vec<_> = (0..210).map(|n| compressor.compress(at(0), &data(n)).0.form).collect();
    let of = |form| (0..210).filter(|n| forms[*n] == form).step_by(4).collect::<Vec<_>>();
    assert_eq!((of(Form::Full), of(Form::Dynamic)), (vec![0, 100, 200], vec![60, 160]));
}

/// RFC 6846 section 8: 7, 14 or 21 low bits of a timestamp, of which a quarter is for the past;
/// scaled numbers with 4 bits; a window, which only `co_common` has with a sequence number; a byte
/// for ECN. The four packets before are references.
#[test]
fn rohc_charges_what_changes_by_how_far_it_is_away() {
    let ticks = |step: u32| {
        let packet =
            move |n| with(data(n), |header| header.timestamps = Some((n * step, n * step)));
        headers(rohc(), (0..6).map(|n| Seen { bytes: 1052, ..packet(n) }))[5]
    };
    // 4 x 23 and a third of it are 122, 4 x 24 are 128.
    assert_eq!([20, 23, 24, 3071, 3072].map(ticks), [7, 7, 9, 9, 11]);
    let skipping = |step: u32| headers(rohc(), (0..6).map(|n| data(n * step)))[5];
    assert_eq!([1, 3, 4, 5].map(skipping), [5, 5, 6, 6]);
    let window = |n: u32| with(data(n), |header| header.window = 8000 + n as u16);
    assert_eq!(headers(rohc(), (0..6).map(window))[5], 5 + 2 + 2 + 2);
    let capable = (0..6).map(|n| Seen { ecn: Ecn::Capable, ..data(n) });
    assert_eq!(headers(rohc(), capable)[5], 6);
}

/// RFC 6846 section 7 and RFC 5795 section 5.2.2: IPv6 has addresses of 32 bytes, a flow label and
/// a next header; large identifiers take one byte up to 127 and two above.
#[test]
fn full_headers_of_rohc_have_addresses_and_identifiers() {
    let mut compressor = Compressor::new(rohc(), IpVersion::V6);
    let long = |n| Seen { bytes: 1060, ..data(n) };
    let sent: Vec<_> = (0..6).map(|n| compressor.compress(at(0), &long(n)).1 - 1000).collect();
    assert_eq!(sent, [62, 62, 62, 62, 4, 4]);
    let many =
        HeaderCompression::Rohc(RohcSettings { connections: 200, ..RohcSettings::default() });
    let sent = headers(many, (0..150).map(|n| segment(n + 1, 0, 0, 9)));
    assert_eq!((sent[0], sent[127], sent[128]), (40, 40, 41));
}

#[test]
fn what_may_change_restores_no_context_of_which_nothing_is_known() {
    let mut decompressor = Decompressor::new(rohc());
    let coded =
        Coded { order: 0, form: Form::Dynamic, context: 3, connection: 7, number: 0, reach: 0 };
    let Restored { is_restored, feedback } = decompressor.restore(at(0), &coded);
    let expected = Feedback { context: 3, connection: 7, is_static: true };
    assert_eq!((is_restored, feedback), (false, Some(expected)));
}

#[test]
fn rohc_has_short_headers_and_tolerates_three_lost_packets() {
    assert_eq!(headers(rohc(), (0..6).map(data)), [39, 39, 39, 39, 5, 5]);
    assert_eq!(headers(rohc(), (0..6).map(ack)), [39, 39, 39, 39, 4, 4]);
    let ticks = |n| with(data(n), |header| header.timestamps = Some((n, n)));
    let ticks = (0..6).map(|n| Seen { bytes: 1052, ..ticks(n) });
    assert_eq!(headers(rohc(), ticks)[4..], [7, 7]);
    let packets: Vec<_> = (0..20).map(data).collect();
    let found = restored(rohc(), &packets, &[8, 9, 10], 3);
    assert_eq!(found.iter().filter(|one| **one).count(), 17);
}

#[test]
fn rohc_with_feedback_repairs_a_context_and_without_it_waits_for_a_refresh() {
    let packets: Vec<_> = (0..200).map(data).collect();
    let lost = [8, 9, 10, 11];
    let found = restored(rohc(), &packets, &lost, 5);
    // The packet that shows the damage, and those until feedback has arrived.
    let gone: Vec<_> = (0..200).filter(|n| !found[*n]).collect();
    assert_eq!(gone, (8..17).collect::<Vec<_>>());
    let settings = HeaderCompression::RohcUnidirectional(RohcUnidirectionalSettings::default());
    let found = restored(settings, &packets, &lost, 5);
    // A packet each 10 ms: 500 ms are 50 packets.
    let gone: Vec<_> = (0..200).filter(|n| !found[*n]).collect();
    assert_eq!(gone, (8..50).collect::<Vec<_>>());
}

#[test]
fn a_lost_start_of_rohc_is_answered_with_a_full_header() {
    let packets: Vec<_> = (0..20).map(data).collect();
    let found = restored(rohc(), &packets, &[0, 1, 2, 3], 2);
    let gone: Vec<_> = (0..20).filter(|n| !found[*n]).collect();
    assert_eq!(gone, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn feedback_is_repeated_if_it_is_lost() {
    let settings = RohcSettings { nack_interval: Span::from_millis(50), ..RohcSettings::default() };
    let mut compressor = Compressor::new(HeaderCompression::Rohc(settings), V4);
    let mut decompressor = Decompressor::new(HeaderCompression::Rohc(settings));
    let mut asked = Vec::new();
    for number in 0..20u32 {
        let (coded, _) = compressor.compress(at(0), &data(number));
        if !(4..8).contains(&number) {
            let now = at(10 * u64::from(number));
            let feedback = decompressor.restore(now, &coded).feedback;
            asked.extend(feedback.map(|_| number));
        }
    }
    assert_eq!(asked, [8, 13, 18]);
    assert_eq!(decompressor.counters().feedback_packets, 3);
    assert_eq!(decompressor.counters().undecodable_packets, 12);
}

#[test]
fn scps_has_the_lengths_of_its_implementation_and_loses_nothing_more() {
    let syn = with(segment(1, 0, 7, 0), |header| header.flags |= flags::SYN);
    let scps = HeaderCompression::Scps(ScpsSettings::default());
    let mut packets = vec![syn];
    packets.extend((0..9).map(data));
    // The header of IP stays.
    assert_eq!(headers(scps, packets.clone())[..3], [40, 28, 28]);
    // A FIN has a number too.
    let fin = with(ack(2), |header| header.flags |= flags::FIN);
    assert_eq!(headers(scps, [syn, ack(1), ack(2), fin]), [40, 30, 30, 34]);
    let found = restored(scps, &packets, &[3, 4, 5, 6], 0);
    assert_eq!(found.iter().filter(|one| **one).count(), 6);
    // A connection whose SYN it has not seen keeps its headers.
    assert_eq!(headers(scps, [data(0), data(1)]), [40, 40]);
}

#[test]
fn more_connections_than_contexts_take_turns() {
    let settings = HeaderCompression::Vj(VjSettings { connections: 3 });
    let rounds = (0..8).map(|n| segment(1 + n % 4, 10 * u32::from(n / 4), 0, 10));
    assert_eq!(headers(settings, rounds), [40; 8]);
    let rounds = (0..8).map(|n| segment(1 + n % 3, 10 * u32::from(n / 3), 0, 10));
    assert_eq!(headers(settings, rounds)[3..], [4; 5]);
}

/// A decoder that adds the differences of RFC 1144 to its own numbers, as that of section 4 does.
#[derive(Clone, Copy)]
struct Numbers {
    sequence: u32,
    acknowledgement: u32,
    window: u16,
}

impl Numbers {
    fn of(header: &Header) -> Self {
        let Header { sequence, acknowledgement, window, .. } = *header;
        Self { sequence, acknowledgement, window }
    }
}

/// A random packet: its step forward (or back), its acknowledgement, its window, payload, whether
/// it is lost.
type Draw = (u32, u32, u16, u32, bool, bool);

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let step = prop_oneof![4 => Just(0u32), 3 => 1u32..3000, 1 => 60_000u32..70_000];
    let window = prop_oneof![3 => Just(8000u16), 1 => 7000u16..9000];
    let payload = prop_oneof![Just(0u32), Just(1000), 1u32..1400];
    let draw = (step.clone(), step, window, payload, prop::bool::weighted(0.1), any::<bool>());
    prop::collection::vec(draw, 1..120)
}

/// The packets of a connection that goes on, and sometimes back.
fn packets(draws: &[Draw]) -> Vec<(Seen, bool)> {
    let (mut sequence, mut acknowledgement) = (u32::MAX - 2000, 17u32);
    let packet = |&(step, acknowledged, window, payload, is_lost, goes_back): &Draw| {
        acknowledgement = acknowledgement.wrapping_add(acknowledged);
        let here = match goes_back && step > 3000 {
            true => sequence.wrapping_sub(step),
            false => sequence,
        };
        let seen =
            with(segment(1, here, acknowledgement, payload), |header| header.window = window);
        sequence = sequence.wrapping_add(payload);
        (seen, is_lost)
    };
    draws.iter().map(packet).collect()
}

proptest! {
    /// A packet that the model calls restored is restored by a decoder of RFC 1144, too: after a
    /// loss it adds differences to the wrong numbers. By chance it may come to the right ones.
    #[test]
    fn vj_restores_what_a_decoder_of_differences_restores(draws in draws()) {
        let mut compressor = Compressor::new(vj(), V4);
        let mut decompressor = Decompressor::new(vj());
        let mut known: Option<Numbers> = None;
        let mut before: Option<Numbers> = None;
        for (seen, is_lost) in packets(&draws) {
            let header = seen.header.unwrap();
            let sent = Numbers::of(&header);
            let (coded, bytes) = compressor.compress(at(0), &seen);
            prop_assert!(bytes <= seen.bytes);
            let last = before.replace(sent);
            if is_lost {
                continue;
            }
            let is_full = coded.form == Form::Full;
            known = match (is_full, known, last) {
                (true, ..) => Some(sent),
                (false, Some(known), Some(last)) => Some(Numbers {
                    sequence: known.sequence.wrapping_add(sent.sequence.wrapping_sub(last.sequence)),
                    acknowledgement: known
                        .acknowledgement
                        .wrapping_add(sent.acknowledgement.wrapping_sub(last.acknowledgement)),
                    window: known.window.wrapping_add(sent.window.wrapping_sub(last.window)),
                }),
                _ => None,
            };
            let is_right = known.is_some_and(|known| {
                (known.sequence, known.acknowledgement, known.window)
                    == (sent.sequence, sent.acknowledgement, sent.window)
            });
            let is_restored = decompressor.restore(at(0), &coded).is_restored;
            prop_assert!(is_right || !is_restored);
            // The wrong numbers are off by what a lost packet has changed.
            prop_assert!(!is_full || is_restored);
        }
    }

    /// Whatever is lost, what a decompressor restores is not more than what arrives, a packet after
    /// a full header is restored, and without losses all are.
    #[test]
    fn every_scheme_restores_all_without_losses(draws in draws()) {
        for settings in HeaderCompression::all() {
            let all: Vec<_> = packets(&draws).into_iter().map(|(seen, _)| seen).collect();
            let found = restored(settings, &all, &[], 3);
            prop_assert!(found.iter().all(|one| *one), "{}", settings.name());
        }
    }

    /// A context of ROHC is never lost by fewer losses in a row than `repeats`, and always comes
    /// back with feedback.
    #[test]
    fn rohc_tolerates_what_it_promises(draws in draws(), repeats in 1u8..6) {
        let settings = HeaderCompression::Rohc(RohcSettings {
            repeats,
            nack_interval: Span::from_millis(30),
            ..RohcSettings::default()
        });
        let all = packets(&draws);
        let seen: Vec<_> = all.iter().map(|(seen, _)| *seen).collect();
        let lost: Vec<_> = (0..all.len()).filter(|n| all[*n].1).collect();
        let found = restored(settings, &seen, &lost, 4);
        let mut in_a_row = 0;
        let mut is_damaged = false;
        for (number, is_restored) in found.iter().enumerate() {
            if lost.contains(&number) {
                in_a_row += 1;
                is_damaged |= in_a_row >= u32::from(repeats);
                continue;
            }
            in_a_row = 0;
            prop_assert!(*is_restored || is_damaged, "{number}");
            is_damaged &= !is_restored;
        }
        let lossless = 12usize;
        if all.len() > lossless && lost.iter().all(|n| n + lossless < all.len()) {
            prop_assert_eq!(found.last(), Some(&true));
        }
    }
}
