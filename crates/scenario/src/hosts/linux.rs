//! Profiles of Linux, and of Android, whose kernel it is.
//!
//! Values of 6.12 were read in its source (`net/ipv4/tcp.c`, `tcp_ipv4.c`, `tcp_cubic.c`,
//! `include/net/tcp.h`), and those of 6.18 were measured on 6.18.44. The other versions differ in
//! what is listed here.

use super::Certainty::{Measured, Reconstructed, Secondary, Source};
use super::{Profile, ProfileValue, System, number, switch, text};

/// Values of all versions since 3.13.
const COMMON: &[ProfileValue] = &[
    text("controller", "cubic", Source, "net/ipv4/tcp_cubic.c: the default since 2.6.19"),
    text(
        "controller.variant",
        "linux",
        Source,
        "net/ipv4/tcp_cubic.c; its slow start ends with HyStart (hystart = 1)",
    ),
    number("transport.initial_window", 10, Source, "include/net/tcp.h: TCP_INIT_CWND since 2.6.39"),
    number(
        "transport.abc_limit",
        255,
        Source,
        "net/ipv4/tcp_cong.c: tcp_slow_start adds all that an ACK delivers, since 3.13",
    ),
    text(
        "transport.delayed_ack",
        "linux",
        Source,
        "net/ipv4/tcp_input.c: tcp_event_data_recv, quick ACKs and TCP_ATO_MIN",
    ),
    switch("transport.timestamps", true, Source, "net/ipv4/tcp_ipv4.c: tcp_timestamps = 1"),
    switch("transport.window_scaling", true, Source, "net/ipv4/tcp_ipv4.c: tcp_window_scaling = 1"),
    text(
        "transport.ecn",
        "passive",
        Source,
        "net/ipv4/tcp_ipv4.c: tcp_ecn = 2, which agrees to ECN and does not request it",
    ),
    text("transport.rto.estimator", "linux", Source, "net/ipv4/tcp_input.c: tcp_rtt_estimator"),
    text("transport.rto.min", "200ms", Source, "include/net/tcp.h: TCP_RTO_MIN"),
    text("transport.rto.max", "120s", Source, "include/net/tcp.h: TCP_RTO_MAX"),
];

/// Versions whose losses RACK finds, which have SACK compression too.
const RACK: &[ProfileValue] = &[
    text(
        "transport.recovery",
        "linux",
        Source,
        "net/ipv4/tcp_recovery.c: tcp_recovery = 1, the only detection since 4.18",
    ),
    number(
        "transport.sack_compression.acks",
        44,
        Source,
        "net/ipv4/tcp_ipv4.c: tcp_comp_sack_nr since 4.18",
    ),
    text(
        "transport.sack_compression.delay",
        "1ms",
        Source,
        "net/ipv4/tcp_ipv4.c: tcp_comp_sack_delay_ns since 4.18",
    ),
];

const SEND: &[ProfileValue] = &[
    text("transport.send_buffer.default", "16KiB", Source, "net/ipv4/tcp.c: tcp_wmem[1]"),
    text("transport.send_buffer.max", "4MiB", Source, "net/ipv4/tcp.c: tcp_wmem[2]"),
];

const RECEIVE_6_MIB: ProfileValue = text(
    "transport.receive_buffer.max",
    "6MiB",
    Source,
    "net/ipv4/tcp.c: tcp_rmem[2] up to 6.15, on hosts with 768 MiB of memory or more",
);
const RECEIVE_DEFAULT: ProfileValue = text(
    "transport.receive_buffer.default",
    "128KiB",
    Source,
    "net/ipv4/tcp.c: tcp_rmem[1] since 4.20",
);

/// Versions up to 6.5, of whose buffers half is window.
const HALF: ProfileValue = text(
    "transport.receive_buffer.growth",
    "linux-5.15",
    Source,
    "net/ipv4/tcp_ipv4.c before 6.6: tcp_adv_win_scale = 1, so tcp_win_from_space is half",
);

const RECEIVE_HALF: &[ProfileValue] = &[RECEIVE_DEFAULT, RECEIVE_6_MIB, HALF];

const BEFORE_6_6: &str =
    "Half of the receive buffer is window (tcp_adv_win_scale = 1), so it ends at 3 MiB.";

pub(super) const LINUX_2_4: Profile = Profile {
    name: "linux-2.4",
    summary: "Linux 2.4 (2001), whose window stays at 64 kB",
    system: System::Linux,
    lists: &[&[
        text(
            "controller",
            "newreno",
            Reconstructed,
            "net/ipv4/tcp_input.c of 2.4; BIC came with 2.6.8",
        ),
        text(
            "transport.recovery",
            "sack",
            Reconstructed,
            "net/ipv4/tcp_input.c of 2.4 has SACK with FACK; RACK-TLP came later",
        ),
        text(
            "transport.receive_buffer",
            "65535B",
            Secondary,
            "Luglio, Roseti and Gerla, section 5: 64 kB; three quarters of tcp_rmem[1] = 87380",
        ),
        text(
            "transport.send_buffer.default",
            "16KiB",
            Source,
            "net/ipv4/tcp.c of 2.4: tcp_wmem[1]",
        ),
        text("transport.send_buffer.max", "128KiB", Source, "net/ipv4/tcp.c of 2.4: tcp_wmem[2]"),
        number(
            "transport.initial_window",
            2,
            Source,
            "tcp_init_cwnd of 2.4: two segments above an RTT of 20 ms, three below",
        ),
        text(
            "transport.delayed_ack",
            "linux",
            Reconstructed,
            "net/ipv4/tcp_input.c of 2.4: quick ACKs and the adaptive time",
        ),
        switch("transport.timestamps", true, Secondary, "tcp(7): tcp_timestamps"),
        switch("transport.window_scaling", true, Secondary, "tcp(7): tcp_window_scaling"),
        switch("transport.ecn", false, Secondary, "tcp(7): tcp_ecn = 0"),
        text("transport.rto.estimator", "linux", Reconstructed, "net/ipv4/tcp_input.c of 2.4"),
        text("transport.rto.min", "200ms", Reconstructed, "include/net/tcp.h of 2.4: TCP_RTO_MIN"),
        text("transport.rto.max", "120s", Reconstructed, "include/net/tcp.h of 2.4: TCP_RTO_MAX"),
    ]],
    notes: &[
        "Its recovery is that of RFC 6675: RACK-TLP came with 4.18. FACK and rate halving are not built.",
        "The receive buffer does not tune itself; that came with 2.6.7.",
        "Limited slow start and HyStart are not in it.",
    ],
};

pub(super) const LINUX_4_19: Profile = Profile {
    name: "linux-4.19",
    summary: "Linux 4.19 (2018)",
    system: System::Linux,
    lists: &[
        COMMON,
        RACK,
        SEND,
        &[
            text(
                "transport.receive_buffer.default",
                "87380B",
                Source,
                "net/ipv4/tcp.c: tcp_rmem[1] before 4.20",
            ),
            RECEIVE_6_MIB,
            text(
                "transport.receive_buffer.growth",
                "linux-4.19",
                Source,
                "the change of 4.20 (a337531b942b): tcp_default_init_rwnd and tcp_fixup_rcvbuf before it",
            ),
        ],
    ],
    notes: &[BEFORE_6_6, "The first window has 20 segments, 29,200 bytes."],
};

pub(super) const LINUX_5_15: Profile = Profile {
    name: "linux-5.15",
    summary: "Linux 5.15 (2021)",
    system: System::Linux,
    lists: &[COMMON, RACK, SEND, RECEIVE_HALF],
    notes: &[BEFORE_6_6],
};

pub(super) const LINUX_6_1: Profile = Profile {
    name: "linux-6.1",
    summary: "Linux 6.1 (2022)",
    system: System::Linux,
    lists: &[COMMON, RACK, SEND, RECEIVE_HALF],
    notes: &[BEFORE_6_6],
};

pub(super) const LINUX_6_12: Profile = Profile {
    name: "linux-6.12",
    summary: "Linux 6.12 (2024)",
    system: System::Linux,
    lists: &[
        COMMON,
        RACK,
        SEND,
        &[
            RECEIVE_DEFAULT,
            RECEIVE_6_MIB,
            text(
                "transport.receive_buffer.growth",
                "linux-6.12",
                Source,
                "net/ipv4/tcp_input.c of 6.12: tcp_rcv_space_adjust",
            ),
        ],
    ],
    notes: &[],
};

pub(super) const LINUX_6_18: Profile = Profile {
    name: "linux-6.18",
    summary: "Linux 6.18 (2025)",
    system: System::Linux,
    lists: &[
        COMMON,
        RACK,
        SEND,
        &[
            RECEIVE_DEFAULT,
            text(
                "transport.receive_buffer.max",
                "32MiB",
                Measured,
                "tcp_rmem of 6.18.44; since 6.16",
            ),
            text(
                "transport.receive_buffer.growth",
                "linux-6.18",
                Measured,
                "buffers of 6.18.44, and the change of 6.18 on the mailing list (tcp_rcv_space_adjust)",
            ),
        ],
    ],
    notes: &[],
};

pub(super) const ANDROID: Profile = Profile {
    name: "android",
    summary: "Android with a 5G modem, on a kernel of Linux 5.15 or 6.1",
    system: System::Linux,
    lists: &[
        COMMON,
        RACK,
        &[
            text(
                "transport.receive_buffer.default",
                "6MiB",
                Secondary,
                "telephony framework: TCP_BUFFER_SIZES_NR, which is written into tcp_rmem",
            ),
            text(
                "transport.receive_buffer.max",
                "16MiB",
                Secondary,
                "telephony framework: TCP_BUFFER_SIZES_NR",
            ),
            text(
                "transport.receive_buffer.growth",
                "linux-5.15",
                Reconstructed,
                "kernels before 6.6, see linux-6.1",
            ),
            text(
                "transport.send_buffer.default",
                "2MiB",
                Secondary,
                "telephony framework: TCP_BUFFER_SIZES_NR, which is written into tcp_wmem",
            ),
            text(
                "transport.send_buffer.max",
                "8MiB",
                Secondary,
                "telephony framework: TCP_BUFFER_SIZES_NR",
            ),
        ],
    ],
    notes: &[
        "Vendors change the sizes, and each radio has its own: LTE has 2 MiB for receiving.",
        BEFORE_ANDROID,
    ],
};

const BEFORE_ANDROID: &str =
    "Half of the receive buffer is window (tcp_adv_win_scale = 1), so it ends at 8 MiB.";
