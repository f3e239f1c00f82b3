//! Each mechanism of a transport with every controller in the registry.
//!
//! The table is the registry itself with all variants, so a new controller is in it at once. Where
//! a controller differs from the rule, it stands in the list of exceptions of that rule, with its
//! source.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod sender;

use std::sync::LazyLock;

use congestion::{
    Controller as _, Loss, ORIGINAL, Specification, VARIANT, Value, entries, variants,
};
use units::Span;

use self::sender::{ADVERTISED, Sender};

const MSS: u64 = 1000;
const RTT: Span = Span::from_millis(100);

/// Every controller, and every variant as `name/variant`.
fn names() -> impl Iterator<Item = &'static str> {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let each = |name: &'static str| {
            let others = variants(name).map(move |(variant, _)| format!("{name}/{variant}"));
            std::iter::once(name.to_owned()).chain(others)
        };
        entries().flat_map(|entry| each(entry.name)).collect()
    });
    NAMES.iter().map(String::as_str)
}

/// The controller or variant called `name` in [`names`].
fn specification(name: &str) -> Specification {
    let (name, variant) = name.split_once('/').unwrap_or((name, ORIGINAL));
    let mut specification = Specification::named(name).unwrap();
    if variant != ORIGINAL {
        specification.set(VARIANT.name, Value::Word(variant.to_owned())).unwrap();
    }
    assert_eq!(specification.variant(), variant);
    specification
}

/// Controllers whose window grows by time that it was not used for, with the reason.
const COUNTS_UNUSED_TIME: &[(&str, &str)] = &[
    (
        "cubic/linux",
        "Linux, tcp_cubic.c: only a time in which nothing is outstanding shifts the epoch, and no application limit",
    ),
    ("htcp", "draft-leith-tcp-htcp-06: the time since the last congestion, whatever was sent"),
    (
        "htcp/linux",
        "Linux, tcp_htcp.c, htcp_cong_time: since the last congestion, whatever was sent",
    ),
    (
        "bbr",
        "the minimum RTT expires after 10 s, and this path shows the queue of the whole window at once",
    ),
    ("bbr3", "as BBR"),
    ("leocc", "as BBR: its path is measured again after 20 s"),
    ("leocc-live", "as LeoCC"),
    (
        "nv",
        "the minimum RTT is measured again every 5 s (tcp_nv.c), and this path has a queue then",
    ),
];

/// RFC 9438 section 5.8, for every controller: a minute in which the window is not used is no
/// minute of probing. Round trips after it are those of a sender that has had none.
#[test]
fn a_minute_without_use_lets_no_window_jump() {
    let minute = Span::from_secs(60);
    let mut jumping = Vec::new();
    for name in names() {
        let mut steady = Sender::avoiding(name);
        steady.rounds(5);
        let steady = steady.cwnd();
        let mut idle = Sender::avoiding(name);
        idle.pause(minute);
        idle.rounds(5);
        let mut slow = Sender::avoiding(name);
        slow.limited = false;
        let end = slow.now + minute;
        while slow.now < end {
            slow.ack(MSS);
            slow.now += RTT;
        }
        slow.limited = true;
        slow.rounds(5);
        let excepted = COUNTS_UNUSED_TIME.iter().any(|(other, _)| *other == name);
        let mut differs = false;
        for (unused, found) in [("idle", idle.cwnd()), ("application limit", slow.cwnd())] {
            let jumps = found > steady + steady / 10;
            differs |= jumps;
            if jumps && !excepted {
                jumping.push(format!("{name}, {unused}: {found} instead of {steady}"));
            }
        }
        assert!(!excepted || differs, "{name} is no exception");
    }
    assert!(jumping.is_empty(), "{jumping:#?}");
}

/// Controllers for which a mark is not what a loss is, with the reason.
const MARK_IS_NO_LOSS: &[(&str, &str)] = &[
    ("bbr3", "draft-ietf-ccwg-bbr: losses are counted by segments, and a mark has none"),
    (
        "jersey",
        "Xu et al. 2004: a loss without a warning of the routers is an error of the channel",
    ),
    ("new-jersey", "Xu et al. 2005: as Jersey"),
    ("bulk-repeat", "Yang et al. 2003: a loss without a queue is an error of the channel"),
    ("cubic/picoquic", "picoquic, cubic.c: an isolated loss is ignored, and a mark is not"),
    ("bbr/picoquic", "picoquic, bbr1.c: the same rule"),
    ("leocc", "LeoCC's module: a loss keeps the cwnd before its ACK, and marks are ignored"),
    ("leocc-live", "as LeoCC"),
    ("dctcp", "RFC 8257 section 3.3: a mark takes half of the share of marked data"),
    ("dctcp/linux", "the same, in tcp_dctcp.c, dctcp_ssthresh"),
];

#[test]
fn a_mark_and_a_loss_of_the_same_flight_leave_the_same_window_and_growth() {
    for name in names() {
        let excepted = MARK_IS_NO_LOSS.iter().any(|(other, _)| *other == name);
        let mut differs = false;
        for starting in [true, false] {
            let sender = |name| {
                if starting {
                    let mut sender = Sender::new(name);
                    sender.rounds(3);
                    sender
                } else {
                    Sender::avoiding(name)
                }
            };
            let (mut lost, mut marked) = (sender(name), sender(name));
            lost.lose();
            marked.mark();
            let (expected, got) = (lost.windows(8), marked.windows(8));
            differs |= expected != got;
            assert!(
                excepted || expected == got,
                "{name}: {expected:?} after a loss, {got:?} after a mark"
            );
        }
        assert!(!excepted || differs, "{name} is no exception");
    }
}

/// Controllers whose window follows a model of the path, and no loss or mark, with the reason.
const MODELS: &[(&str, &str)] = &[
    ("bbr", "Linux, tcp_bbr.c: delivery rate and smallest RTT"),
    ("bbr3", "draft-ietf-ccwg-bbr: as BBR"),
    ("leocc", "SpaceNetLab/LeoCC: as BBR"),
    ("leocc-live", "as LeoCC"),
    ("copa", "Arun and Balakrishnan 2018: the queueing delay"),
    ("copa2", "mvfst: what was delivered in a cycle"),
    ("copa/genericcc", "genericCC: as Copa"),
    ("vivace", "PCC-Kernel: twice what the rate sends in an RTT"),
    ("allegro", "as Vivace"),
    ("vivace/uspace", "PCC-Uspace: the rate, and twice what it sends in an RTT"),
    ("allegro/uspace", "as Vivace"),
    ("ck-stp", "Davoli et al.: the window is constant"),
];

fn is_model(name: &str) -> bool {
    MODELS.iter().any(|(other, _)| *other == name)
}

/// Before the first loss ssthresh has no value, and a recovery that the transport has spared or
/// that follows a mark of its own ends with the window that there is.
#[test]
fn a_recovery_that_has_reduced_nothing_leaves_a_finite_window() {
    for name in names() {
        let mut sender = Sender::new(name);
        let before = sender.cwnd();
        sender.controller.on_recovery_exit(sender.now);
        assert!(sender.cwnd() <= before, "{name}: {before} and then {}", sender.cwnd());
    }
}

/// Controllers for which a loss after a mark is a loss like any other, with the reason.
const LOSS_AFTER_MARK_COUNTS: &[(&str, &str)] = &[
    ("bbr", "a mark is no reduction; in recovery it keeps the packets in the network (tcp_bbr.c)"),
    (
        "bbr3",
        "draft-ietf-ccwg-bbr: a mark reduces inflight_lo when the round ends, and recovery follows",
    ),
    ("dctcp", "tcp_dctcp.c, dctcp_state: as after any loss; the mark may have taken very little"),
    ("dctcp/linux", "the same rule"),
    ("prague", "tcp_prague.c, prague_enter_loss: as DCTCP"),
];

/// RFC 3168 section 6.1.2: one reduction answers the mark and the loss.
#[test]
fn a_loss_in_the_window_of_a_mark_reduces_nothing_more() {
    for name in names() {
        let excepted = LOSS_AFTER_MARK_COUNTS.iter().any(|(other, _)| *other == name);
        let (mut marked, mut both) = (Sender::avoiding(name), Sender::avoiding(name));
        marked.mark();
        both.mark();
        let loss = both.loss();
        both.controller.on_loss_after_mark(&loss);
        both.controller.on_recovery_exit(both.now);
        let window = |sender: &Sender| {
            let window = sender.controller.window();
            (window.cwnd, window.ssthresh)
        };
        let (expected, got) = (window(&marked), window(&both));
        assert!(
            excepted || expected == got,
            "{name}: {expected:?} after a mark, {got:?} after both"
        );
    }
}

/// Controllers whose window a mark may raise, with the reason.
const MARK_RAISES: &[(&str, &str)] = &[(
    "westwood/linux",
    "tcp_westwood.c, CA_EVENT_COMPLETE_CWR: after the reduction cwnd is BWE * RTTmin, as after a loss",
)];

#[test]
fn repeated_marks_do_not_grow_what_they_leave() {
    for name in names().filter(|name| !is_model(name)) {
        let mut sender = Sender::avoiding(name);
        let mut left = Vec::new();
        for _ in 0..12 {
            let before = sender.cwnd();
            sender.mark();
            let may_raise = MARK_RAISES.iter().any(|(other, _)| *other == name);
            assert!(
                may_raise || sender.cwnd() <= before,
                "{name}: a mark raised {before} to {}",
                sender.cwnd()
            );
            left.push(sender.cwnd());
            sender.rounds(3);
        }
        let bound = (left[0] + left[1]).max(60 * MSS);
        assert!(left.iter().all(|window| *window <= bound), "{name}: {left:?}");
    }
}

/// Controllers that set their window to the estimate of the path at a mark, with the reason.
const MARK_SETS: &[(&str, &str)] = &[
    ("jersey", "Xu et al. 2004: a warning sets cwnd to ownd, whichever is larger"),
    ("new-jersey", "Xu et al. 2005: as Jersey"),
];

/// An estimate of the path may be far above a window that was just reduced. A mark asks for less
/// all the same (RFC 3168 section 6.1.2).
#[test]
fn a_mark_raises_no_window_that_is_below_the_estimate_of_the_path() {
    for name in names() {
        let mut excepted = MARK_RAISES.iter().chain(MARK_SETS);
        let excepted = excepted.any(|(other, _)| *other == name);
        let mut sender = Sender::avoiding(name);
        sender.set_window(10);
        let before = *sender.controller.window();
        sender.mark();
        let window = sender.controller.window();
        let most = before.cwnd.max(before.ssthresh);
        let small = window.cwnd <= before.cwnd && window.ssthresh <= most;
        assert!(excepted != small, "{name}: {} and {}", window.cwnd / MSS, window.ssthresh / MSS);
    }
}

/// After what a loss or a timeout did, and a few round trips at most, the windows are again what
/// they were: nothing was lost (Linux, `tcp_undo_cwnd_reduction`).
#[test]
fn a_spurious_loss_leaves_no_smaller_window() {
    for name in names() {
        for timeout in [false, true] {
            let mut sender = Sender::avoiding(name);
            let before = *sender.controller.window();
            let loss = sender.loss();
            if timeout {
                sender.controller.on_timeout(&loss);
            } else {
                sender.controller.on_loss(&loss);
                sender.controller.on_recovery_exit(sender.now);
            }
            sender.controller.on_spurious_loss(before.cwnd, before.ssthresh);
            // BBR restores its window with the next ACK, unless it measures the round trip just
            // now.
            let after = *sender.windows(4).iter().max().unwrap();
            assert!(after >= before.cwnd * 8 / 10, "{name}, timeout {timeout}: {before:?} {after}");
        }
    }
}

/// Controllers whose window a timeout does not reduce to one segment, with the reason.
const AFTER_A_TIMEOUT: &[(&str, u64, &str)] = &[
    ("vegas", 2, "Brakmo and Peterson 1995, as in ns-2: two segments"),
    ("new-vegas", 2, "as Vegas"),
    ("copa", 2, "mvfst, minCwndInMss: two segments after persistent congestion"),
    ("copa2", 2, "as Copa"),
    ("copa/genericcc", 10, "genericCC, ctcp.hh: it begins again"),
    ("cubic/picoquic", 2, "picoquic, PICOQUIC_CWIN_MINIMUM"),
    ("bbr/picoquic", 2, "the same constant"),
    ("vivace", 1000, "PCC-Kernel, pcc_set_state: the rate, and so the window, goes on"),
    ("allegro", 1000, "as Vivace"),
    (
        "vivace/uspace",
        1000,
        "PCC-Uspace has no window; losses are an interval's, and the rate goes on",
    ),
    ("allegro/uspace", 1000, "as Vivace"),
    ("bulk-repeat", 1000, "Yang et al. 2003: a loss without a queue is an error of the channel"),
];

/// Controllers that take longer than a dozen round trips to come back, with the reason.
const SLOW_WAY_BACK: &[(&str, u32, &str)] = &[
    ("ledbat-plus-plus", 14, "its slow start has a gain of a half on a path of 100 ms"),
    ("nv", 60, "Linux, `tcpnv_acked`: no growth after a timeout before twenty RTTs are measured"),
];

/// RFC 5681 section 3.1: one segment after a timeout, from which the window grows back, and a
/// second timeout of the same segment leaves ssthresh alone.
#[test]
fn a_timeout_leaves_one_segment_and_a_way_back() {
    for name in names() {
        let segments = AFTER_A_TIMEOUT.iter().find(|(other, ..)| *other == name);
        let segments = segments.map_or(1, |(_, segments, _)| *segments);
        let mut sender = Sender::avoiding(name);
        let loss = sender.loss();
        sender.controller.on_timeout(&loss);
        assert!(sender.cwnd() <= segments * MSS, "{name}: {}", sender.cwnd());
        let ssthresh = sender.controller.window().ssthresh;
        sender.controller.on_timeout(&Loss { repeated: true, ..loss });
        assert_eq!(sender.controller.window().ssthresh, ssthresh, "{name}");
        assert!(sender.cwnd() <= segments * MSS, "{name}: {}", sender.cwnd());
        sender.shrink();
        let slow = SLOW_WAY_BACK.iter().find(|(other, ..)| *other == name);
        sender.rounds(slow.map_or(12, |(_, rounds, _)| *rounds));
        assert!(sender.cwnd() >= 10 * MSS, "{name}: {}", sender.cwnd());
    }
}

/// Controllers whose window an idle period leaves alone, with the reason.
const AFTER_IDLE: &[(&str, &str)] = &[
    ("bbr", "the paced model and not the window bounds what follows (Linux, `bbr_cwnd_event`)"),
    ("bbr3", "draft-ietf-ccwg-bbr section 5.4.1: as BBR"),
    ("leocc", "as BBR"),
    ("leocc-live", "as BBR"),
    ("copa", "mvfst, setAppIdle: nothing; the pacing rate bounds what follows"),
    ("copa2", "as Copa"),
    ("copa/genericcc", "genericCC has no rule; the pacing rate bounds what follows"),
    ("cubic/picoquic", "picoquic, cubic.c, has no rule; pacing bounds what follows"),
    ("bbr/picoquic", "picoquic, bbr1.c, has a rule that is not called; as BBR"),
    ("vivace", "PCC-Kernel has no rule; the rate bounds what follows"),
    ("allegro", "as Vivace"),
    ("vivace/uspace", "PCC-Uspace has no rule; the rate bounds what follows"),
    ("allegro/uspace", "as Vivace"),
    ("ck-stp", "Davoli et al.: the window is constant"),
];

/// RFC 5681 section 4.1: at most the initial window after an idle period.
#[test]
fn an_idle_period_leaves_at_most_the_initial_window() {
    for name in names() {
        let excepted = AFTER_IDLE.iter().any(|(other, _)| *other == name);
        let mut sender = Sender::avoiding(name);
        let before = sender.cwnd();
        sender.controller.on_idle();
        let after = sender.cwnd();
        let expected = if excepted { before } else { before.min(10 * MSS) };
        assert_eq!(after, expected, "{name}");
        sender.now += Span::from_secs(60);
        sender.shrink();
        let windows = sender.windows(4);
        let least = if name.starts_with("bbr") { 4 * MSS } else { windows[0] };
        assert!(windows[4] >= least, "{name}: {windows:?}");
    }
}

/// RFC 7661: a window that the sender does not fill says nothing about the path, and does not grow.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for name in names() {
        let mut sender = Sender::avoiding(name);
        // BBR may be on the way back from a measurement of the round trip.
        let before = *sender.windows(12).iter().max().unwrap();
        sender.limited = false;
        sender.acknowledged = sender.sent - 2 * MSS;
        sender.rounds(30);
        assert!(sender.cwnd() <= before + MSS, "{name}: {before} {}", sender.cwnd());
    }
}

/// Controllers that do not answer a single loss, with the reason.
const IGNORES_A_LOSS: &[(&str, &str)] = &[
    (
        "jersey",
        "Xu et al. 2004: a loss without a warning of the routers is an error of the channel",
    ),
    ("new-jersey", "Xu et al. 2005: as Jersey"),
    ("cubic/picoquic", "picoquic, cubic.c: an isolated loss is ignored"),
    ("bbr/picoquic", "picoquic, bbr1.c: the same rule"),
];

/// Without round-trip times (all segments were sent twice, say) every controller still answers a
/// loss and grows again.
#[test]
fn without_round_trip_times_losses_and_growth_go_on() {
    for name in names() {
        let mut sender = Sender::new(name);
        sender.blind = true;
        sender.rounds(4);
        let before = sender.cwnd();
        sender.lose();
        let after = sender.cwnd();
        let ignores = IGNORES_A_LOSS.iter().any(|(other, _)| *other == name);
        let falls = !is_model(name) && !ignores;
        assert!(!falls || after < before, "{name}: {before} {after}");
        sender.rounds(20);
        assert!(sender.cwnd() >= after, "{name}: {after} {}", sender.cwnd());
    }
}

/// Controllers that a longer path stops, with the reason.
const STOPPED_BY_A_LONGER_PATH: &[(&str, &str)] = &[(
    "lp",
    "Kuzmanovic and Knightly 2003: the smallest delay is that of the connection, and so a longer path \
     looks like a queue of others",
)];

/// The path becomes three times as long, as after a hand-over: no window collapses or explodes.
#[test]
fn a_longer_path_keeps_the_window_in_bounds() {
    for name in names() {
        let mut sender = Sender::avoiding(name);
        let before = sender.cwnd();
        sender.stretch = 3;
        sender.rounds(30);
        let after = sender.cwnd();
        let excepted = STOPPED_BY_A_LONGER_PATH.iter().any(|(other, _)| *other == name);
        assert_eq!(after < 2 * MSS, excepted, "{name}: {before} {after}");
        assert!(after <= 40 * before.max(ADVERTISED), "{name}: {before} {after}");
        sender.lose();
        sender.rounds(5);
        assert!(sender.cwnd() >= MSS, "{name}");
    }
}
