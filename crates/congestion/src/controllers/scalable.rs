//! Scalable TCP: the window grows and shrinks by fixed shares, whatever its size.
//!
//! Source: T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM
//! SIGCOMM Computer Communication Review 33(2), 2003. Its rules have no equation numbers.
//!
//! Rules: each ACK adds 0.01 segments and a loss takes an eighth of the window, so that the
//! time to recover from a loss is a number of round trips that does not depend on the rate. Up to
//! the legacy window of 16 segments it is standard TCP, and so are slow start and the timeout.
//!
//! Decisions: the paper counts segments and rounds the eighth up to a whole one; bytes
//! need no rounding. The rule is for each ACK, so delayed ACKs halve the growth, unless the limit L
//! of byte counting is 2. As in RFC 5681, what a loss reduces is the flight size. The legacy window
//! of 16 is the value that is commonly given; the paper's own text was not available.

mod linux;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Loss};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::VARIANT;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

pub use linux::LinuxScalable;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "increase",
        default: "0.01",
        allowed: Allowed::Range(1e-4, 1.0),
        meaning: "Segments that each ACK adds above the legacy window (Kelly's a)",
    },
    Parameter {
        name: "decrease",
        default: "0.125",
        allowed: Allowed::Range(0.01, 0.9),
        meaning: "Share of the window that a loss takes above the legacy window (Kelly's b)",
    },
    Parameter {
        name: "legacy_window",
        default: "16",
        allowed: Allowed::Range(0.0, 1e6),
        meaning: "Segments up to which it is standard TCP (Kelly's lwnd)",
    },
    VARIANT,
];

/// Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable {
    window: Window,
    increase: f64,
    decrease: f64,
    legacy_window: f64,
}

impl Listed for Scalable {
    const LISTED: &'static [Entry] = &[Entry {
        name: "scalable",
        summary: "Each ACK adds 0.01 segments and a loss takes an eighth of the window",
        source: "Kelly, Scalable TCP, 2003",
        status: Status::Implementation("Linux 6.12, net/ipv4/tcp_scalable.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            increase: values.number("increase"),
            decrease: values.number("decrease"),
            legacy_window: values.number("legacy_window"),
        }
    }
}

impl Scalable {
    fn is_legacy(&self, bytes: u64) -> bool {
        bytes as f64 <= self.legacy_window * self.window.mss as f64
    }
}

impl Controller for Scalable {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    /// 0.01 segments for each ACK. As a fraction of cwnd, so that what is less than a byte stays.
    fn avoid_congestion(&mut self, ack: &Ack) {
        let legacy = self.is_legacy(self.window.cwnd);
        let window = &mut self.window;
        let counted = window.counted(ack.acked).max(window.mss);
        window.grow_by_fraction(if legacy {
            window.mss * counted
        } else {
            whole(self.increase * counted as f64 * window.cwnd as f64)
        });
    }

    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        if self.is_legacy(loss.flight) {
            return self.window.half(loss.flight);
        }
        let left = (1.0 - self.decrease) * loss.flight as f64;
        whole(left).max(2 * self.window.mss)
    }

    /// The timeout of RFC 5681: half of the flight size.
    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.window.ssthresh = self.window.half(loss.flight);
        }
        self.window.cwnd = self.window.mss;
    }
}

impl TcpPolicy for Scalable {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::{ack, loss};

    const MSS: u64 = 1460;

    fn scalable(cwnd: u64) -> Scalable {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 2 * MSS,
            initial_ssthresh: 2 * MSS,
            byte_counting: 1,
        };
        let mut scalable = Scalable::build(&settings, &Values::defaults(PARAMETERS));
        scalable.window.cwnd = cwnd;
        scalable
    }

    #[test]
    fn a_hundred_acks_add_one_segment_whatever_the_window() {
        for segments in [17, 700, 1_000_000] {
            let mut scalable = scalable(segments * MSS);
            for _ in 0..100 {
                scalable.on_ack(&ack(MSS));
            }
            let grown = scalable.window.cwnd - segments * MSS;
            assert!((MSS - 1..=MSS).contains(&grown), "{grown} bytes at {segments} segments");
        }
    }

    #[test]
    fn an_ack_for_two_segments_counts_once() {
        let mut scalable = scalable(700 * MSS);
        for _ in 0..100 {
            scalable.on_ack(&ack(2 * MSS));
        }
        let grown = scalable.window.cwnd - 700 * MSS;
        assert!((MSS - 1..=MSS).contains(&grown), "{grown} bytes");
    }

    #[test]
    fn a_loss_takes_an_eighth() {
        let mut scalable = scalable(800 * MSS);
        scalable.on_loss(&loss(800 * MSS));
        assert_eq!((scalable.window.cwnd, scalable.window.ssthresh), (700 * MSS, 700 * MSS));
    }

    #[test]
    fn up_to_the_legacy_window_it_is_standard_tcp() {
        let mut scalable = scalable(16 * MSS);
        scalable.on_ack(&ack(MSS));
        assert_eq!(scalable.window.cwnd, 16 * MSS + MSS / 16);
        scalable.on_loss(&loss(16 * MSS));
        assert_eq!(scalable.window.cwnd, 8 * MSS);
        scalable.on_loss(&loss(3 * MSS));
        assert_eq!(scalable.window.cwnd, 2 * MSS);
    }

    #[test]
    fn a_timeout_halves_as_standard_tcp_does() {
        let mut scalable = scalable(800 * MSS);
        scalable.on_timeout(&loss(800 * MSS));
        assert_eq!((scalable.window.cwnd, scalable.window.ssthresh), (MSS, 400 * MSS));
        scalable.on_timeout(&Loss { repeated: true, ..loss(MSS) });
        assert_eq!(scalable.window.ssthresh, 400 * MSS);
    }
}
