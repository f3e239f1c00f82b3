//! Controllers for background transfers: alone they use the link, and they leave it to NewReno when
//! its queue is longer than they allow.

use recording::Recording;

use crate::run;

/// Payload of the bottleneck in bytes per second.
const GOODPUT: f64 = 10e6 / 8.0 * 1448.0 / 1500.0;

/// A path that a background flow has to itself before a NewReno flow begins.
#[derive(Clone, Copy, Debug)]
struct Shared {
    controller: &'static str,
    /// Milliseconds without a queue.
    rtt: u64,
    /// Milliseconds that the queue adds at most.
    queue: u64,
    /// Seconds before NewReno begins.
    alone: u64,
    /// Seconds after that.
    seconds: u64,
    /// Payload of the NewReno flow.
    traffic: &'static str,
}

impl Shared {
    fn run(&self) -> Recording {
        let Self { controller, rtt, queue, alone, seconds, traffic } = *self;
        let delay = rtt as f64 / 2.0;
        let packets = (queue as f64 * 10e6 / 8e3 / 1500.0).round();
        let duration = alone + seconds;
        run(&format!(
            r#"
duration = "{duration}s"
[[link]]
between = ["server", "client"]
delay = "{delay}ms"
forward = {{ rate = "10Mbit/s", queue = {{ packets = {packets} }} }}
backward = {{ rate = "10Mbit/s" }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ recovery = "linux", receive_buffer = "64MiB" }}
traffic = {{ bulk = "unlimited" }}
[[flow]]
from = "server"
to = "client"
controller = "newreno"
start = "{alone}s"
transport = {{ recovery = "linux", receive_buffer = "64MiB" }}
traffic = {{ {traffic} }}
[record]
interval = "100ms"
"#
        ))
    }
}

/// On 10 Mbit/s, where NewReno does not end. On a long path one segment in each round trip takes
/// minutes.
fn shared(controller: &'static str, rtt: u64, queue: u64) -> Shared {
    let (alone, seconds) = if rtt < 300 { (60, 120) } else { (600, 600) };
    Shared { controller, rtt, queue, alone, seconds, traffic: "bulk = \"unlimited\"" }
}

/// Shares of the link: of the background flow while it is alone, and of NewReno afterwards.
fn shares(path: &Shared, recording: &Recording) -> (f64, f64) {
    let series = &recording.flow_series;
    let last = (0..series.t_s.len())
        .filter(|&row| series.flow[row] == 0 && series.t_s[row] <= path.alone as f64)
        .map(|row| series.delivered_bytes[row])
        .max();
    let alone = last.unwrap() as f64 / (GOODPUT * path.alone as f64);
    (alone, recording.flows[1].bytes as f64 / (GOODPUT * path.seconds as f64))
}

/// The sawtooth of NewReno raises the delay, and each time TCP-LP leaves with all but a segment.
#[test]
fn tcp_lp_uses_an_idle_link_and_leaves_it_to_newreno() {
    let path = shared("lp", 100, 200);
    let (background, newreno) = shares(&path, &path.run());
    assert!(background > 0.75, "{background}");
    assert!(newreno > 0.9, "{newreno}");
}

/// Milliseconds of the bottleneck's queue while the background flow is alone, after 30 s.
fn waiting(path: &Shared, recording: &Recording) -> Vec<f64> {
    let series = &recording.link_series;
    (0..series.t_s.len())
        .filter(|&row| series.link[row] == 0)
        .filter(|&row| (30.0..path.alone as f64).contains(&series.t_s[row]))
        .map(|row| series.queue_packets[row] as f64 * 1.2)
        .collect()
}

/// RFC 6817 section 2.4.2: the window grows while the queue is shorter than 100 ms, and shrinks
/// while it is longer.
#[test]
fn ledbat_uses_an_idle_link_and_keeps_the_queue_at_its_target() {
    for (rtt, queue) in [(30, 150), (100, 220), (600, 720)] {
        let path = shared("ledbat", rtt, queue);
        let recording = path.run();
        let (alone, _) = shares(&path, &recording);
        let mut waiting = waiting(&path, &recording);
        waiting.sort_by(f64::total_cmp);
        let (median, longest) = (waiting[waiting.len() / 2], waiting[waiting.len() - 1]);
        assert!(alone > 0.97, "{alone} {path:?}");
        assert!((90.0..115.0).contains(&median) && longest < 130.0, "{median} {longest} {path:?}");
    }
}

/// NewReno fills the queue and halves its window. Where it leaves more than 100 ms, LEDBAT goes
/// down by segments in a round trip, in proportion; a queue that never reaches 100 ms gives no sign
/// but losses, and both flows share.
#[test]
fn ledbat_leaves_a_link_whose_queue_is_longer_than_its_target() {
    // RTT, queue and bounds of NewReno's share.
    let cases = [
        (30, 45, 0.35, 0.6),
        (30, 150, 0.75, 0.9),
        (100, 50, 0.35, 0.6),
        (100, 220, 0.75, 0.9),
        (100, 800, 0.93, 1.0),
        (600, 300, 0.45, 0.65),
        (600, 720, 0.7, 0.9),
    ];
    for (rtt, queue, least, most) in cases {
        let path = shared("ledbat", rtt, queue);
        let (_, newreno) = shares(&path, &path.run());
        assert!((least..=most).contains(&newreno), "{newreno} {path:?}");
    }
}

/// draft-irtf-iccrg-ledbat-plus-plus section 4.3: the window falls while the queue is longer than
/// 60 ms. NewReno fills the queue and halves its window: on a path of R ms, (Q - R) / 2 of a queue
/// of Q ms are left. Beyond R + 120 ms the queue is always longer than the target, and LEDBAT++
/// keeps two segments. A queue that never reaches 60 ms gives no sign but losses, and both flows
/// share.
#[test]
fn ledbat_plus_plus_leaves_a_link_whose_queue_is_longer_than_its_target() {
    // RTT, queue and bounds of NewReno's share.
    let cases = [
        (30, 15, 0.4, 0.75),
        (30, 45, 0.4, 0.75),
        (30, 150, 0.95, 1.0),
        (100, 25, 0.4, 0.75),
        (100, 50, 0.4, 0.75),
        (100, 100, 0.8, 0.95),
        (100, 220, 0.95, 1.0),
        (100, 800, 0.95, 1.0),
        (600, 300, 0.8, 0.95),
        (600, 720, 0.95, 1.0),
    ];
    for (rtt, queue, least, most) in cases {
        let path = shared("ledbat-plus-plus", rtt, queue);
        let (_, newreno) = shares(&path, &path.run());
        assert!((least..=most).contains(&newreno), "{newreno} {path:?}");
    }
}

/// Sections 4.3 and 4.4: a longer queue stays at the target, and slowdowns take a tenth of the
/// time. On a GEO path the bursts of slow start end it early, and take part of the window after
/// each slowdown.
#[test]
fn ledbat_plus_plus_uses_an_idle_link_and_keeps_the_queue_at_its_target() {
    for (rtt, queue, least) in
        [(30, 150, 0.85), (100, 50, 0.85), (100, 220, 0.85), (600, 720, 0.65)]
    {
        let path = shared("ledbat-plus-plus", rtt, queue);
        let recording = path.run();
        let (alone, _) = shares(&path, &recording);
        let longest = waiting(&path, &recording).into_iter().fold(0.0, f64::max);
        assert!(alone > least, "{alone} {path:?}");
        assert!(longest < 65.0 || rtt == 600, "{longest} ms {path:?}");
    }
}

/// The link is LEDBAT++'s again when the other flow is done.
#[test]
fn ledbat_plus_plus_returns_when_newreno_is_done() {
    for (rtt, queue, least) in [(30, 150, 0.9), (100, 220, 0.85), (600, 720, 0.6)] {
        let path = shared("ledbat-plus-plus", rtt, queue);
        let path = Shared { traffic: "download = \"40MB\"", ..path };
        let recording = path.run();
        assert!(recording.flows[1].completed, "{path:?}");
        let total: u64 = recording.flows.iter().map(|flow| flow.bytes).sum();
        let used = total as f64 / (GOODPUT * (path.alone + path.seconds) as f64);
        assert!(used > least, "{used} {path:?}");
    }
}
