//! Profiles of macOS and FreeBSD.

use super::Certainty::{Reconstructed, Secondary, Source};
use super::{Profile, System, number, switch, text};

const NO_GROWTH: &str = "Buffers have the size to which they grow. The rule by which the receive buffer grows \
     (tcp_sbrcv_grow) differs between versions of XNU, and is not modelled.";

pub(super) const MACOS: Profile = Profile {
    name: "macos",
    summary: "macOS (XNU of 2022) with 4 GB of memory or more",
    system: System::Other("macOS"),
    lists: &[&[
        text(
            "controller",
            "cubic",
            Source,
            "bsd/netinet/tcp_cc.h: TCP_CC_ALGO_CUBIC_INDEX is the default",
        ),
        text(
            "transport.recovery",
            "linux",
            Reconstructed,
            "bsd/netinet/tcp_input.c has RACK and tail loss probes; its rules here are those of Linux",
        ),
        text(
            "transport.receive_buffer",
            "4MiB",
            Source,
            "bsd/netinet/tcp_subr.c: tcp_autorcvbuf_max",
        ),
        text("transport.send_buffer", "4MiB", Source, "bsd/netinet/tcp_subr.c: tcp_autosndbuf_max"),
        number("transport.initial_window", 10, Reconstructed, "RFC 6928, bsd/netinet/tcp_cc.c"),
        number(
            "transport.abc_limit",
            2,
            Source,
            "bsd/netinet/tcp_cubic.c: tcp_cubic_ack_rcvd, tcp_do_rfc3465_lim2 = 1",
        ),
        text(
            "transport.delayed_ack",
            "100ms",
            Reconstructed,
            "bsd/netinet/tcp_timer.h: TCPTV_DELACK",
        ),
        switch(
            "transport.timestamps",
            true,
            Source,
            "bsd/netinet/tcp_subr.c: tcp_do_timestamps = 1",
        ),
        switch(
            "transport.window_scaling",
            true,
            Source,
            "bsd/netinet/tcp_subr.c: tcp_win_scale = 3",
        ),
        text("transport.rto.min", "100ms", Source, "bsd/netinet/tcp_subr.c: tcp_TCPTV_MIN = 100"),
    ]],
    notes: &[
        NO_GROWTH,
        "ECN is requested for a share of the connections only, so it keeps its default here.",
    ],
};

pub(super) const FREEBSD_14: Profile = Profile {
    name: "freebsd-14",
    summary: "FreeBSD 14 with its default TCP stack",
    system: System::Other("FreeBSD"),
    lists: &[&[
        text("controller", "cubic", Secondary, "cc_cubic(4): the default for TCP"),
        text(
            "controller.slow_start",
            "standard",
            Reconstructed,
            "sys/netinet/cc/cc_cubic.c: HyStart++ is off unless it is requested",
        ),
        text(
            "transport.recovery",
            "sack",
            Reconstructed,
            "sys/netinet/tcp_sack.c: RFC 6675; RACK is another stack",
        ),
        text(
            "transport.receive_buffer.default",
            "64KiB",
            Source,
            "sys/netinet/tcp_usrreq.c: tcp_recvspace",
        ),
        text(
            "transport.receive_buffer.max",
            "2MiB",
            Source,
            "sys/netinet/tcp_input.c: tcp_autorcvbuf_max",
        ),
        text(
            "transport.receive_buffer.growth",
            "freebsd-14",
            Source,
            "sys/netinet/tcp_input.c: tcp_autorcvbuf",
        ),
        text(
            "transport.send_buffer",
            "2MiB",
            Source,
            "sys/netinet/tcp_output.c: tcp_autosndbuf_max, from 32 KiB (tcp_sendspace)",
        ),
        number("transport.initial_window", 10, Secondary, "tcp(4): initcwnd_segments"),
        number(
            "transport.abc_limit",
            2,
            Source,
            "sys/netinet/tcp_input.c: tcp_do_rfc3465 = 1, tcp_abc_l_var = 2",
        ),
        text(
            "transport.delayed_ack",
            "40ms",
            Source,
            "sys/netinet/tcp_timer.h: TCPTV_DELACK is hz / 25",
        ),
        switch("transport.timestamps", true, Secondary, "tcp(4): rfc1323"),
        switch("transport.window_scaling", true, Secondary, "tcp(4): rfc1323"),
        text(
            "transport.ecn",
            "passive",
            Secondary,
            "tcp(4): ecn.enable = 2, which agrees to ECN and does not request it",
        ),
        text(
            "transport.rto.min",
            "30ms",
            Reconstructed,
            "sys/netinet/tcp_timer.h: TCPTV_MIN is hz / 33",
        ),
    ]],
    notes: &[
        "The send buffer has the size to which it grows: 8 KiB with each segment that leaves while it is nearly full.",
        "The receive buffer compares with the round trip that a receiver of Linux measures.",
    ],
};
