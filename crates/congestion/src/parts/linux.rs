//! The TCP of Linux as its congestion controllers see it: the window in whole segments, the clock
//! in ticks, and the calls that it makes to them.
//!
//! Source: `net/ipv4/tcp_cong.c`, `tcp_input.c` and `tcp_output.c` of Linux 6.12. A controller of
//! Linux implements [`Operations`], the `tcp_congestion_ops` of the kernel, and [`LinuxController`]
//! calls it as the kernel does. It is used for `variant = "linux"` of controllers whose paper or
//! RFC says otherwise.
//!
//! Common rules, where they differ from RFC 5681:
//! - cwnd is a number of whole segments. Segments acknowledged are counted until there are enough
//!   for one more (`snd_cwnd_cnt`).
//! - All segments that an ACK covers count, so delayed ACKs do not slow growth down. The limit of
//!   appropriate byte counting has no effect. What exceeds ssthresh counts for avoidance.
//! - A loss reduces cwnd and not the flight size. A timeout calls the same rule.
//!
//! Decisions: the clock ticks 250 times a second, as in the kernels of Debian and Ubuntu. A segment
//! that is not full counts as one, as in the kernel, if each ACK covers one of them at most. The
//! kernel's `CWR` after a mark and its recovery are one state here.

mod controller;
#[cfg(test)]
pub(crate) mod samples;
mod socket;

use std::fmt::Debug;

use crate::entry::{Entry, Repair, Status};
use crate::events::{Ecn, Feedback, Needs};
use crate::parameters::{Allowed, Parameter, Values};

pub use controller::LinuxController;
pub(crate) use socket::{HZ, random, ticks};
pub use socket::{Socket, State};

/// The word for the algorithm of the paper or RFC.
pub const ORIGINAL: &str = "original";
/// The word for the one of Linux.
pub const LINUX: &str = "linux";

/// The parameter by which a scenario chooses.
pub const VARIANT: Parameter = Parameter {
    name: "variant",
    default: ORIGINAL,
    allowed: Allowed::OneOf(&[ORIGINAL, LINUX]),
    meaning: "The algorithm of its source, or that of Linux's controller of this name, which takes only \
              the parameters whose meaning mentions Linux",
};

/// The parameters of a controller of Linux.
pub(crate) const PARAMETERS: &[Parameter] = &[Parameter { default: LINUX, ..VARIANT }];

/// The entry of Linux's variant of a controller: its name, summary, source, and the file of the
/// kernel.
pub(crate) const fn variant_of(
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    file: &'static str,
) -> Entry {
    let (status, repair) = (Status::Implementation(file), Repair::SelectiveAcks);
    Entry { name, summary, source, status, repair, parameters: PARAMETERS }
}

/// Nothing but losses and growth.
pub(crate) const NO_NEEDS: Needs = Needs {
    feedback: false,
    records: false,
    round_trips: false,
    pacing: false,
    marks: Ecn::Off,
    duplicate_reports: false,
    probes: false,
    own_recovery: false,
    router_feedback: None,
    utilisation: false,
    path_changes: false,
    tcp: false,
};

/// An ACK that may let the window grow (`cong_avoid`).
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Segments newly acknowledged.
    pub(crate) acked: u64,
    /// cwnd limited the sender (`tcp_is_cwnd_limited`).
    pub(crate) limited: bool,
}

/// Measurements of an ACK (`ack_sample`).
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Segments newly acknowledged cumulatively.
    pub(crate) acked: u64,
    /// Round-trip time in microseconds.
    pub(crate) rtt: Option<u64>,
}

/// A controller of Linux (`tcp_congestion_ops`).
pub trait Operations: Clone + Debug + Default {
    /// Its entry, with the name of the algorithm that it is a variant of.
    const LISTED: &'static [Entry];
    /// Events that it needs.
    const NEEDS: Needs = Needs { feedback: true, ..NO_NEEDS };

    /// With the values of its parameters.
    fn configured(_values: &Values) -> Self {
        Self::default()
    }

    /// The controller is reducing the window by itself, so that a mark changes nothing (the
    /// kernel's state `CWR`).
    fn is_reducing(&self) -> bool {
        false
    }

    /// The connection is set up, and the handshake has measured a round-trip time (`init`); called
    /// for those that need round-trip times or feedback.
    fn init(&mut self, _socket: &mut Socket) {}

    /// ssthresh in segments after a loss, a mark or a timeout (`ssthresh`): that of Reno.
    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        socket.half()
    }

    /// May let the window grow (`cong_avoid`).
    fn grow(&mut self, socket: &mut Socket, growth: Growth);

    /// Takes the measurements of an ACK (`pkts_acked`).
    fn on_sample(&mut self, _socket: &mut Socket, _sample: Sample, _feedback: &Feedback) {}

    /// Any ACK arrived (`in_ack_event`). It comes after [`on_sample`](Self::on_sample) as of
    /// Linux 6.15 and the stable releases of that time, Debian's 6.1 among them; before, it came
    /// first.
    fn on_any_ack(&mut self, _socket: &Socket, _feedback: &Feedback) {}

    /// A loss was found, `ssthresh` has answered it or the mark before it, and cwnd is to be
    /// reduced (`set_state` with `TCP_CA_Recovery`).
    fn on_recovery(&mut self, _socket: &mut Socket) {}

    /// The state of recovery becomes `socket.state` (`set_state`).
    fn on_state(&mut self, _socket: &Socket) {}

    /// Recovery, or the reduction for a mark, is over (`CA_EVENT_COMPLETE_CWR`).
    fn on_reduced(&mut self, _socket: &mut Socket) {}

    /// The retransmission timer has expired (`CA_EVENT_LOSS`).
    fn on_timeout(&mut self, _socket: &mut Socket) {}

    /// A segment is sent while nothing is in the network, `pause` ticks after the last
    /// (`CA_EVENT_TX_START`).
    fn on_start(&mut self, _socket: &Socket, _pause: u64) {}

    /// The window shrinks after an idle period (`CA_EVENT_CWND_RESTART`).
    fn on_restart(&mut self, _socket: &Socket) {}

    /// The last reduction was spurious, and the windows are as before (`undo_cwnd`).
    fn on_undo(&mut self) {}
}
