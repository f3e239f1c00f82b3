//! Controllers of Linux that look at the queueing delay: CDG, Illinois, NV and YeAH.
//!
//! The numbers are those of `docs/controllers.md`, which are the kernel's.

use recording::Recording;

use super::{Path, mean, steady};

/// Seconds in which a window that grows by a segment in each round trip fills the path.
fn fills(path: Path) -> Path {
    Path { seconds: if path.rtt == 600 { 800 } else { path.seconds }, ..path }
}

/// Packets that wait, in the second half of the run.
fn longest_queue(recording: &Recording, seconds: u64) -> f64 {
    let series = &recording.link_series;
    let rows = (0..series.t_s.len())
        .filter(|&row| series.link[row] == 0 && series.t_s[row] > seconds as f64 / 2.0);
    rows.map(|row| f64::from(series.queue_packets[row])).fold(0.0, f64::max)
}

/// A change of ssthresh in congestion avoidance.
#[derive(Debug)]
struct Reduction {
    /// Row of the flow's series.
    row: usize,
    /// Share of cwnd that is left.
    left: f64,
    /// cwnd before it, in segments.
    cwnd: f64,
}

/// All but the one that ends slow start, and those in the six round trips after another.
fn reductions(recording: &Recording, path: &Path) -> Vec<Reduction> {
    let series = &recording.flow_series;
    let changes = (1..series.t_s.len()).filter(|&row| {
        let before = series.ssthresh_bytes[row - 1];
        series.ssthresh_bytes[row] != before && (1..u64::MAX).contains(&before)
    });
    let settled = 6 * path.rtt as usize / 10;
    changes
        .filter(|row| {
            let earlier = row.saturating_sub(settled);
            series.ssthresh_bytes[earlier] == series.ssthresh_bytes[row - 1]
        })
        .map(|row| {
            let before = series.cwnd_bytes[row - 1] as f64;
            let left = series.ssthresh_bytes[row] as f64 / before;
            Reduction { row, left, cwnd: before / path.mss() }
        })
        .collect()
}

/// Packets that waited in the round trip before a row of the flow's series, on average.
fn queue_before(recording: &Recording, row: usize, path: &Path) -> f64 {
    let series = &recording.link_series;
    let end = recording.flow_series.t_s[row];
    let begin = end - 2.0 * path.rtt as f64 / 1e3;
    mean(
        (0..series.t_s.len())
            .filter(|&i| series.link[i] == 0 && (begin..=end).contains(&series.t_s[i]))
            .map(|i| f64::from(series.queue_packets[i])),
    )
}

/// A path on which NV never measures. Each recovery restarts it (`tcpnv_state` of Linux), and the
/// next one comes before the round trips have passed that it waits for. Whether it finds a way out
/// after the losses of slow start depends on their number.
fn starts_over(path: &Path) -> bool {
    path.rtt == 10 && path.recovery == "linux" && path.delayed_ack
}

/// W = rate * RTTmin + 10: as long as RTTmin is that of the empty path, `pad` segments wait. The
/// window may be two below W, and a delayed ACK lets two packets out at once.
#[test]
fn nv_keeps_its_pad_in_the_queue_while_it_knows_the_shortest_round_trip() {
    for path in Path::each("nv", 4.0, 60) {
        let path = Path { parameters: ", min_rtt_period = 1000000", ..fills(path) };
        let recording = path.run();
        let (utilisation, waiting) = steady(&recording, path.seconds);
        assert!(utilisation > 0.99, "{utilisation} {path:?}");
        if starts_over(&path) {
            assert!(waiting > 11.0, "{waiting} {path:?}");
            continue;
        }
        assert!((7.0..=11.0).contains(&waiting), "{waiting} {path:?}");
        let longest = longest_queue(&recording, path.seconds);
        assert!(longest <= 12.0, "{longest} {path:?}");
    }
}

/// RTTmin is the smallest of two periods, and then that of a path with the flow's own queue: `pad`
/// more segments wait. A period is 3.75 to 6.25 s, so this takes 7.5 to 12.5 s.
#[test]
fn nv_takes_its_own_queue_for_the_path_after_two_periods() {
    for path in Path::each("nv", 4.0, 60) {
        if path.rtt != 100 {
            // A shorter queue is full before, and a longer path has few round trips in a period.
            continue;
        }
        let longest = longest_queue(&path.run(), path.seconds);
        let periods = |seconds: f64| path.seconds as f64 / seconds;
        let bounds = 6.0 * periods(12.5).floor()..=12.0 * (periods(7.5) + 1.0);
        assert!(bounds.contains(&longest), "{longest} {bounds:?} {path:?}");
    }
}

/// Q above `alpha` leaves the window. Q is that of the end of a round trip, and fast mode adds a
/// hundredth of cwnd until then: 6 segments at most.
///
/// `alpha` of 80 is for long paths. An `alpha` of a tenth of the product is as far below RTTbase /
/// 8, where slow mode begins, as it is there. In a queue of several products the window after slow
/// start is `reno_count`, and more than the path holds with a short queue: YeAH then competes with
/// itself as Reno.
#[test]
fn yeah_keeps_the_queue_below_its_bound() {
    for path in Path::each("yeah", 1.0, 100) {
        let (alpha, parameters) = match path.rtt {
            600 => (80.0, ""),
            100 => (8.0, ", alpha = 8"),
            40 => (3.0, ", alpha = 3"),
            // A packet is an eighth of the round trip.
            _ => continue,
        };
        let path = Path { parameters, ..fills(path) };
        let recording = path.run();
        let (utilisation, waiting) = steady(&recording, path.seconds);
        assert!(utilisation > 0.99, "{utilisation} {path:?}");
        assert!(waiting <= alpha + 2.0, "{waiting} {path:?}");
        let longest = longest_queue(&recording, path.seconds);
        assert!(longest <= alpha + 6.0, "{longest} {path:?}");
    }
}

/// Times at which an Illinois flow grows undisturbed for `rounds` round trips, with the packets
/// that wait and the segments that a round trip adds.
fn growths(recording: &Recording, path: &Path, rounds: f64) -> Vec<(f64, f64)> {
    let (flow, link) = (&recording.flow_series, &recording.link_series);
    let queues: Vec<f64> = (0..link.t_s.len())
        .filter(|&row| link.link[row] == 0)
        .map(|row| f64::from(link.queue_packets[row]))
        .collect();
    let mut growths = Vec::new();
    for (row, &waiting) in queues.iter().enumerate().take(flow.t_s.len()) {
        let rtt = path.rtt as f64 / 10.0 * (1.0 + waiting / path.bdp());
        let end = row + (rounds * rtt).round() as usize;
        let settled = row.saturating_sub((3.0 * rtt) as usize);
        if end >= flow.t_s.len() || flow.ssthresh_bytes[settled] != flow.ssthresh_bytes[end] {
            continue;
        }
        let cwnd = |row: usize| flow.cwnd_bytes[row];
        let avoids = cwnd(settled) > flow.ssthresh_bytes[settled];
        // A recovery that lasts longer moves cwnd, too.
        if avoids && (settled..end).all(|row| cwnd(row) <= cwnd(row + 1)) {
            let grown = (cwnd(end) - cwnd(row)) as f64 / path.mss();
            growths.push((waiting, grown / rounds));
        }
    }
    growths
}

/// From a delay of 80 % of the longest on, alpha is 0.37 segments in a round trip and less, down to
/// 0.3.
#[test]
fn illinois_grows_slowly_with_a_long_queue() {
    for path in Path::each("illinois", 1.0, 120) {
        let path = match path.rtt {
            600 => Path { queue: 0.3, seconds: 600, ..path },
            // Below 15 segments it is Reno.
            10 => continue,
            _ => path,
        };
        let growths = growths(&path.run(), &path, 8.0);
        let long = growths.iter().filter(|(waiting, _)| *waiting >= 0.8 * path.queue * path.bdp());
        let growth = mean(long.map(|(_, growth)| *growth));
        assert!((0.29..0.37).contains(&growth), "{growth} {path:?}");
    }
}

/// Without a queue alpha is 10, and a loss takes an eighth of cwnd. It takes half from a delay of
/// 80 % of the longest on. On 100 ms the queue is seldom empty for longer than alpha takes to be 10
/// again.
#[test]
fn illinois_grows_fast_and_leaves_more_without_a_queue() {
    for path in Path::each("illinois", 1.0, 240) {
        let (loss, alpha) = match path.rtt {
            600 => (2e-4, 9.0..11.0),
            100 => (2e-3, 4.0..11.0),
            // The queue is rarely empty for four round trips.
            _ => continue,
        };
        let path = Path { loss, ..path };
        let recording = path.run();
        let growths = growths(&recording, &path, 4.0).into_iter();
        let fastest = growths.map(|(_, growth)| growth).fold(0.0, f64::max);
        assert!(alpha.contains(&fastest), "{fastest} {path:?}");
        let mut empty = 0;
        for each in reductions(&recording, &path) {
            let delay = queue_before(&recording, each.row, &path) / path.bdp();
            if delay < 0.01 {
                assert!((0.865..0.885).contains(&each.left), "{each:?} {path:?}");
                empty += 1;
            } else if delay > 0.8 && each.row > 5 * path.rtt as usize {
                assert!((0.49..0.51).contains(&each.left), "{each:?} {path:?}");
            }
        }
        assert!(empty >= 3 || path.rtt == 100, "{empty} {path:?}");
    }
}

/// Delays that grow reduce cwnd to 724/1024 long before a queue of four products is full, and so
/// nothing is lost.
#[test]
fn cdg_backs_off_on_growing_delays_before_anything_is_lost() {
    for path in Path::each("cdg", 4.0, 60) {
        let path = Path { seconds: if path.rtt == 600 { 600 } else { path.seconds }, ..path };
        let recording = path.run();
        let flow = recording.flows[0].tcp().unwrap();
        assert_eq!((flow.segments_retransmitted, flow.timeouts), (0, 0), "{path:?}");
        let reductions = reductions(&recording, &path);
        assert!(reductions.len() >= 2, "{reductions:?} {path:?}");
        for each in reductions {
            // Whole segments, and one that may have come since the last row.
            let off = (each.left - 724.0 / 1024.0) * each.cwnd;
            assert!((-2.0..=1.0).contains(&off), "{each:?} {path:?}");
        }
        let (utilisation, waiting) = steady(&recording, path.seconds);
        assert!(utilisation > 0.5, "{utilisation} {path:?}");
        assert!(waiting < path.bdp(), "{waiting} {path:?}");
    }
}

/// Bits per second of a flow that loses packets at random.
fn goodput(parameters: &'static str, path: Path) -> f64 {
    Path { parameters, loss: 2e-3, ..path }.run().flows[0].goodput_bps
}

/// A loss leaves cwnd while delays fall, or grow without an end in sight. An empty queue has no
/// gradients, and there each loss counts: what this gains is a tenth to the double, and not the
/// whole link.
#[test]
fn cdg_with_loss_tolerance_keeps_more_of_a_link_with_errors() {
    for path in Path::each("cdg", 4.0, 120) {
        if path.rtt == 10 {
            // The queue is never empty for long, and both fill the link.
            continue;
        }
        let tolerant = goodput(", loss_tolerance = \"on\"", path);
        let other = goodput("", path);
        assert!(tolerant > 1.05 * other, "{tolerant} {other} {path:?}");
    }
}
