//! Profiles of Windows.
//!
//! Its source is not public. Values come from Microsoft's documentation and posts, and from papers.

use super::Certainty::{Reconstructed, Secondary};
use super::{Profile, ProfileValue, System, number, switch, text};

const WINDOWS: System = System::Other("Windows");

const NO_GROWTH: &str =
    "The window is that of a buffer that has grown: how the system lets it grow is not modelled.";

/// Windows 10 since version 1709, and later.
const MODERN: &[ProfileValue] = &[
    text(
        "controller",
        "cubic",
        Secondary,
        "Get-NetTCPSetting: CongestionProvider CUBIC since version 1709",
    ),
    text(
        "controller.slow_start",
        "hystart++",
        Secondary,
        "RFC 9406, whose authors ship it in Windows",
    ),
    text(
        "transport.recovery",
        "linux",
        Reconstructed,
        "announced for Windows 10; the rules here are those of Linux",
    ),
    text(
        "transport.receive_buffer",
        "16MiB",
        Secondary,
        "netsh interface tcp: the auto-tuning level \"normal\" ends at 16 MB",
    ),
    number(
        "transport.initial_window",
        10,
        Secondary,
        "Get-NetTCPSetting: InitialCongestionWindow 10",
    ),
    text(
        "transport.delayed_ack",
        "40ms",
        Secondary,
        "Get-NetTCPSetting: DelayedAckTimeout 40, frequency 2",
    ),
    switch("transport.timestamps", false, Secondary, "Get-NetTCPSetting: Timestamps Disabled"),
    switch(
        "transport.window_scaling",
        true,
        Secondary,
        "needed by the auto-tuning level \"normal\"",
    ),
    switch("transport.ecn", false, Secondary, "Get-NetTCPSetting: EcnCapability Disabled"),
    text("transport.rto.min", "300ms", Secondary, "Get-NetTCPSetting: MinRto 300"),
];

pub(super) const NT: Profile = Profile {
    name: "windows-nt",
    summary: "Windows NT 4.0 (1996), without window scaling, timestamps and SACK",
    system: WINDOWS,
    lists: &[&[
        text("controller", "reno", Reconstructed, "RFC 2001, the standard of its time"),
        text(
            "transport.recovery",
            "reno",
            Reconstructed,
            "RFC 2001; KB 224829: SACK came with Windows 2000",
        ),
        text(
            "transport.receive_buffer",
            "65535B",
            Secondary,
            "Luglio, Roseti and Gerla, section 5: 64 kB",
        ),
        text(
            "transport.delayed_ack",
            "200ms",
            Secondary,
            "KB 224829: every second segment, or 200 ms",
        ),
        switch(
            "transport.timestamps",
            false,
            Secondary,
            "KB 224829: RFC 1323 came with Windows 2000",
        ),
        switch(
            "transport.window_scaling",
            false,
            Secondary,
            "KB 224829: RFC 1323 came with Windows 2000",
        ),
        switch("transport.ecn", false, Reconstructed, "older than RFC 3168"),
    ]],
    notes: &[
        "On Ethernet its default window is 8760 bytes. 64 kB is what applications and dial-up can have.",
    ],
};

pub(super) const XP: Profile = Profile {
    name: "windows-xp",
    summary: "Windows XP (2001), whose window scales only on request",
    system: WINDOWS,
    lists: &[&[
        text("controller", "newreno", Reconstructed, "RFC 2582, the standard of its time"),
        text("transport.recovery", "sack", Secondary, "KB 224829: SackOpts is on by default"),
        text(
            "transport.receive_buffer",
            "17520B",
            Secondary,
            "TcpWindowSize: twelve segments of 1460 bytes between 1 and 100 Mbit/s",
        ),
        text(
            "transport.delayed_ack",
            "200ms",
            Secondary,
            "KB 224829: every second segment, or 200 ms",
        ),
        switch(
            "transport.timestamps",
            false,
            Secondary,
            "KB 224829: Tcp1323Opts is off by default",
        ),
        switch(
            "transport.window_scaling",
            false,
            Secondary,
            "KB 224829: Tcp1323Opts is off by default",
        ),
        switch("transport.ecn", false, Reconstructed, "ECN came with Windows Vista"),
    ]],
    notes: &[
        "With network cards above 100 Mbit/s its window is 64 kB: `transport.receive_buffer = \"65535B\"`.",
    ],
};

pub(super) const WINDOWS_10: Profile = Profile {
    name: "windows-10",
    summary: "Windows 10 (version 1709 and later), auto-tuning level normal",
    system: WINDOWS,
    lists: &[MODERN],
    notes: &[NO_GROWTH],
};

pub(super) const WINDOWS_11: Profile = Profile {
    name: "windows-11",
    summary: "Windows 11, auto-tuning level normal",
    system: WINDOWS,
    lists: &[MODERN],
    notes: &[NO_GROWTH],
};

pub(super) const SERVER_2022: Profile = Profile {
    name: "windows-server-2022",
    summary: "Windows Server 2022, auto-tuning level normal, template Internet",
    system: WINDOWS,
    lists: &[MODERN],
    notes: &[NO_GROWTH, "Connections below 10 ms have the template Datacenter, with other values."],
};
