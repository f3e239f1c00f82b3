//! Requests, gaps, and the synchronising handshake.

use transport::Endpoint;
use units::{Bytes, Rate, Span};
use xtp::{Config, Kind, Options, Retransmission};

use crate::wire::{A, B, Sent, Wire, at, config, ms};

/// A steady transfer of `packets` at 100 packets per second, of which `lost` are lost.
fn transfer(config: &Config, packets: u64, lost: impl Fn(&Sent) -> bool + 'static) -> Wire {
    let rate = Some(Rate::from_bits_per_second(8 * 1_052 * 100));
    let mut wire = Wire::new(&Config { rate, ..config.clone() }).losing(lost).open();
    wire.write(A, packets * 1000);
    wire.run_until(at(20_000));
    assert_eq!(wire.ends[B].delivered(), packets * 1000);
    wire
}

fn retransmissions(wire: &Wire) -> u64 {
    Endpoint::counters(&wire.ends[A]).retransmissions
}

/// The second transmission of the packet that was the n-th DATA first.
fn repaired_at(wire: &Wire, nth: usize) -> u64 {
    let seq = wire.sent(A, Kind::Data).nth(nth - 1).unwrap().packet.seq;
    let mut all = wire.sent(A, Kind::Data).filter(|sent| sent.packet.seq == seq);
    all.nth(1).unwrap().at.as_nanos() / 1_000_000
}

#[test]
fn without_loss_the_receiver_reports_once_in_each_round_trip() {
    let wire = transfer(&config(), 1_000, |_| false);
    let reports = wire.sent(B, Kind::Cntl).count();
    assert!((18..=22).contains(&reports), "{reports} in ten seconds with an RTT of 0.5 s");
    assert_eq!((wire.sent(B, Kind::Ecntl).count(), retransmissions(&wire)), (0, 0));
    assert_eq!(wire.ends[A].sent().handshakes, 0);
}

#[test]
fn a_gap_is_reported_at_once_and_only_it_is_repaired() {
    let wire = transfer(&config(), 400, |sent| sent.is(A, Kind::Data, 200));
    assert_eq!(retransmissions(&wire), 1);
    let lost = wire.sent(A, Kind::Data).nth(199).unwrap().at.as_nanos() / 1_000_000;
    // The next packet leaves 10 ms later, and a round trip is 500 ms.
    assert!((510..=520).contains(&(repaired_at(&wire, 200) - lost)));
}

#[test]
fn without_fastnak_a_gap_waits_for_the_next_request() {
    let config = Config { fast_nak: false, request_interval: Some(ms(1_500)), ..config() };
    let wire = transfer(&config, 600, |sent| sent.is(A, Kind::Data, 200));
    assert_eq!(retransmissions(&wire), 1);
    assert!(wire.log.iter().all(|sent| !sent.packet.options.contains(Options::FASTNAK)));
    let lost = wire.sent(A, Kind::Data).nth(199).unwrap().at.as_nanos() / 1_000_000;
    let waited = repaired_at(&wire, 200) - lost;
    assert!((510..=2_020).contains(&waited), "{waited} ms");
}

#[test]
fn going_back_n_everything_behind_a_gap_is_retransmitted() {
    let config = Config { retransmission: Retransmission::GoBackN, ..config() };
    let wire = transfer(&config, 400, |sent| sent.is(A, Kind::Data, 200));
    // The lost one, and those that left in the round trip before its report came: 52 or 53.
    assert!((51..=54).contains(&retransmissions(&wire)), "{}", retransmissions(&wire));
    assert!(wire.sent(B, Kind::Ecntl).all(|sent| sent.packet.spans().is_empty()));
}

#[test]
fn a_retransmission_that_is_lost_is_repaired_after_a_request() {
    for retransmission in [Retransmission::Selective, Retransmission::GoBackN] {
        let config = Config { retransmission, ..config() };
        let seq = 199_000;
        let wire = transfer(&config, 600, move |sent| {
            sent.is_of(A, Kind::Data) && sent.packet.seq == seq && sent.at < at(3_500)
        });
        let times: Vec<_> =
            wire.sent(A, Kind::Data).filter(|sent| sent.packet.seq == seq).collect();
        assert!(times.len() >= 3, "{retransmission:?} {}", times.len());
        assert_eq!(wire.ends[A].sent().handshakes, 0);
    }
}

#[test]
fn an_outage_ends_with_a_synchronising_handshake() {
    let config = Config { wtimer: ms(1_000), ..config() };
    let wire = transfer(&config, 800, |sent| (at(3_000)..at(7_000)).contains(&sent.at));
    assert_eq!(wire.ends[A].sent().handshakes, 1);
    let during: Vec<_> =
        wire.sent(A, Kind::Data).filter(|sent| (at(4_700)..at(7_000)).contains(&sent.at)).collect();
    assert!(during.is_empty(), "no data leaves during a handshake: {}", during.len());
    let requests: Vec<_> = wire
        .sent(A, Kind::Cntl)
        .filter(|sent| sent.at > at(3_000) && sent.packet.options.contains(Options::SREQ))
        .take(4)
        .map(|sent| sent.at.as_nanos() / 1_000_000)
        .collect();
    let gaps: Vec<_> = requests.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // WTIMER is about twice 500 ms, and doubles.
    assert!(gaps[1].abs_diff(2 * gaps[0]) < 20, "{requests:?}");
}

#[test]
fn a_report_with_another_number_does_not_end_a_handshake() {
    // All reports are late by more than WTIMER once, between 3 s and 4 s.
    let rate = Some(Rate::from_bits_per_second(8 * 1_052 * 100));
    let config = Config { rate, ..config() };
    let mut wire = Wire::new(&config)
        .scripted(|sent| match sent.by == B && (at(3_000)..at(4_000)).contains(&sent.at) {
            true => crate::wire::Fate::Late(ms(900)),
            false => crate::wire::Fate::Arrives,
        })
        .open();
    wire.write(A, 600_000);
    wire.run_until(at(20_000));
    assert_eq!(wire.ends[B].delivered(), 600_000);
    assert_eq!((wire.ends[A].sent().handshakes, retransmissions(&wire)), (1, 0));
    // The report of the request before arrives 400 ms after the handshake has begun, and its own
    // after a round trip.
    let begins = wire.sent(A, Kind::Cntl).find(|sent| sent.at > at(3_000)).unwrap().at;
    let resumes = wire.sent(A, Kind::Data).find(|sent| sent.at > begins).unwrap().at;
    assert!(resumes >= begins + ms(500), "{begins:?} {resumes:?}");
}

#[test]
fn a_closed_window_opens_when_the_application_reads() {
    let config = Config { receive_buffer: Bytes(5_000), reads_at_once: false, ..config() };
    let mut wire = Wire::new(&config).open();
    wire.write(A, 50_000);
    wire.run_until(at(30_000));
    assert_eq!((wire.ends[B].unread(), wire.ends[A].flight()), (5_000, 0));
    let probes: Vec<_> =
        wire.times(A, Kind::Cntl).into_iter().filter(|time| *time > 2_000).collect();
    let gaps: Vec<_> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.windows(2).all(|pair| pair[1] > pair[0]), "requests become rare: {gaps:?}");
    assert!(wire.sent(A, Kind::Cntl).any(|sent| sent.packet.options.contains(Options::DREQ)));
    let before = wire.now;
    wire.read(B, 5_000);
    wire.run_until(before + ms(600));
    assert_eq!(wire.ends[B].unread(), 5_000, "DREQ brought a report at once");
    for _ in 0..20 {
        wire.read(B, 5_000);
        wire.run_until(wire.now + Span::from_secs(2));
    }
    assert_eq!(wire.ends[B].delivered(), 50_000);
}
