//! Two paths, a slow one (250 ms) and a fast one (50 ms): heartbeats, failover and return (RFC 9260
//! sections 5.4, 6.4, 8.2 and 8.3).

use sctp::{Config, Kind};
use transport::{AbortCause, Endpoint as _};
use units::{Bytes, Span, Time};

use crate::wire::{A, B, Fate, MSS, Sent, Wire, at, config, ms};

fn two_paths() -> Config {
    Config { paths: 2, ..config() }
}

/// Nothing passes on a path from `from` to `to`, in milliseconds.
fn outage(path: u8, from: u64, to: u64) -> impl Fn(&Sent) -> bool + 'static {
    move |sent| sent.packet.path == path && sent.at >= at(from) && sent.at < at(to)
}

#[test]
fn the_primary_path_carries_the_data_and_heartbeats_confirm_the_other_one() {
    let mut wire = Wire::new(&two_paths()).opened();
    wire.write(A, 100 * MSS);
    wire.run_until(at(20_000));
    assert!(wire.sent(A, Kind::Data).all(|sent| sent.packet.path == 0));
    let beats: Vec<_> = wire.sent(A, Kind::Heartbeat).map(|sent| sent.packet.path).collect();
    assert_eq!(beats, [1], "the primary path was confirmed by the set-up");
}

#[test]
fn an_idle_path_gets_a_heartbeat_every_interval() {
    let mut wire = Wire::new(&two_paths()).opened();
    wire.run_until(at(302_000));
    for path in [0, 1] {
        let beats = wire.sent(A, Kind::Heartbeat).filter(|sent| sent.packet.path == path).count();
        // 30 s and an RTO of 1 s or more, with a jitter of half of it.
        assert!((9..=11).contains(&beats), "{beats} on path {path}");
    }
}

#[test]
fn a_chunk_that_timed_out_takes_the_other_path() {
    let mut wire = Wire::new(&two_paths()).losing(outage(0, 2000, 3000)).opened();
    wire.write(A, 4 * MSS);
    wire.run_until(at(10_000));
    let paths: Vec<_> = wire.sent(A, Kind::Data).map(|sent| sent.packet.path).collect();
    assert_eq!(paths, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(wire.ends[B].delivered(), 4 * MSS);
    assert_eq!(wire.ends[A].path(), 0);
}

/// Path.Max.Retrans 2: the third timeout in succession moves new data, at 1.25 + 2.5 + 5 s. A
/// heartbeat brings it back after the outage.
#[test]
fn new_data_moves_to_the_other_path_and_back() {
    let config = Config {
        path_max_retries: 2,
        heartbeat_interval: Span::from_secs(5),
        rto_max: Span::from_secs(10),
        ..two_paths()
    };
    let mut wire = Wire::new(&config).losing(outage(0, 4000, 60_000)).opened();
    wire.write(A, 1000 * MSS);
    wire.run_until(at(25_000));
    assert_eq!(wire.ends[A].path(), 1);
    assert_eq!(wire.ends[A].events().path_failures, 1);
    assert_eq!(wire.ends[B].delivered(), 1000 * MSS);
    wire.write(A, 100 * MSS);
    wire.run_until(at(27_000));
    assert_eq!(wire.ends[B].delivered(), 1100 * MSS);
    wire.run_until(at(90_000));
    assert_eq!((wire.ends[A].path(), wire.ends[A].events().path_changes), (0, 2));
    wire.write(A, 100 * MSS);
    wire.run_until(at(120_000));
    assert_eq!(wire.ends[A].abort_cause(), None);
    let late = wire.sent(A, Kind::Data).filter(|sent| sent.at >= at(90_000));
    assert_eq!(late.filter(|sent| sent.packet.path == 0).count(), 100);
    assert_eq!(wire.ends[B].delivered(), 1200 * MSS);
}

#[test]
fn an_association_whose_primary_path_is_down_opens_on_the_other_one() {
    let mut wire = Wire::new(&two_paths()).losing(outage(0, 0, 1_000_000)).open();
    wire.write(A, 10 * MSS);
    wire.run_until(at(60_000));
    assert_eq!(wire.ends[B].delivered(), 10 * MSS);
    assert_eq!(wire.ends[A].path(), 1);
}

#[test]
fn the_loss_of_both_paths_ends_the_association() {
    let is_lost = |sent: &Sent| sent.at >= at(4000);
    let mut wire = Wire::new(&two_paths()).losing(is_lost).opened();
    wire.write(A, 1000 * MSS);
    wire.run();
    assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::Retransmissions));
    assert!(wire.ends[A].counters().timeouts >= 5);
}

#[test]
fn a_sack_takes_the_path_of_the_data() {
    let mut wire = Wire::new(&two_paths()).losing(outage(0, 2000, 3000)).opened();
    wire.write(A, 4 * MSS);
    wire.run_until(at(10_000));
    assert!(wire.sent(B, Kind::Sack).all(|sent| sent.packet.path == 1));
}

/// Both paths have 2 Mbit/s and queues without limit.
fn two_links(lost: impl Fn(&Sent) -> bool + 'static) -> impl FnMut(&Sent) -> Fate + 'static {
    let mut free = [[Time::ZERO; 2]; 2];
    move |sent| {
        let free = &mut free[usize::from(sent.packet.path)][sent.by];
        let bits = 8 * (u64::from(sent.packet.bytes()) + 20);
        *free = (*free).max(sent.at) + Span::from_secs_f64(bits as f64 / 2e6);
        if lost(sent) { Fate::Lost } else { Fate::Late(free.since(sent.at)) }
    }
}

/// Effect of an outage of the first path.
#[derive(Debug, PartialEq)]
struct Failover {
    /// From its start until new data takes the other path, in milliseconds.
    moves: u64,
    /// The longest time in which no new byte arrives.
    silence: u64,
    /// From its end until new data takes the first path again.
    returns: u64,
}

const OUTAGE: [u64; 2] = [30_000, 200_000];

fn failover(delays: [u64; 2], path_max_retries: u32) -> Failover {
    let config = Config {
        mss: 1452,
        // Twice the bandwidth-delay product of GEO, so that the queue stays short.
        receive_buffer: Bytes(250_000),
        path_max_retries,
        max_retries: 20,
        ..two_paths()
    };
    let mut wire = Wire::new(&config);
    wire.delays = delays.map(ms);
    let mut wire = wire.scripted(two_links(outage(0, OUTAGE[0], OUTAGE[1]))).open();
    wire.write(A, 1 << 40);
    let (mut moved, mut returned) = (None, None);
    let (mut delivered, mut last, mut silence) = (0, OUTAGE[0], 0);
    for now in (10_000..400_000).step_by(10) {
        wire.run_until(at(now));
        if now >= OUTAGE[0] && wire.ends[A].path() == 1 {
            moved.get_or_insert(now - OUTAGE[0]);
        }
        if now >= OUTAGE[1] && wire.ends[A].path() == 0 {
            returned.get_or_insert(now - OUTAGE[1]);
        }
        if wire.ends[B].delivered() > delivered {
            (delivered, last) = (wire.ends[B].delivered(), now);
        }
        silence = silence.max(now.saturating_sub(last));
    }
    assert_eq!(wire.ends[A].abort_cause(), None);
    Failover { moves: moved.unwrap(), silence, returns: returned.unwrap() }
}

/// The table of docs/sctp.md: retries, and milliseconds until data moves, without new data, and
/// until data returns.
///
/// Timeouts double from 1.2 s on, up to 60 s. With N retries N + 1 of them in succession move the
/// data. Data that arrived before the outage is acknowledged on the other path after the first
/// timeout, which then does not count (section 8.2).
#[test]
fn failover_takes_the_timeouts_of_the_path() {
    let table = [
        ([250, 25], 0, [1450, 2360, 72_060]),
        ([250, 25], 1, [8990, 4790, 30_410]),
        ([250, 25], 2, [18_600, 9600, 84_950]),
        ([250, 25], 5, [136_250, 59_990, 8000]),
        ([25, 250], 0, [1220, 2370, 67_710]),
        ([25, 250], 1, [8910, 4780, 26_110]),
        ([25, 250], 2, [18_480, 9560, 80_730]),
        ([25, 250], 5, [135_890, 59_990, 7190]),
    ];
    for (delays, retries, [moves, silence, returns]) in table {
        let expected = Failover { moves, silence, returns };
        assert_eq!(failover(delays, retries), expected, "{delays:?} ms, {retries} retries");
    }
}
