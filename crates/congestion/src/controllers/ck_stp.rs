//! CK-STP: a constant window for a link whose capacity is known and whose losses are all errors.
//!
//! Source: F. Davoli, G. Spanò, S. Vignola, S. Zappatore, "Performance Measurements and Comparison
//! of Modified TCP Control Algorithms over Rain-Faded Satellite Channels" (slides). It is New Reno
//! with SACK, but
//!
//! - the window is the bandwidth-delay product at all times: no slow start, no growth, no
//!   reduction,
//! - one duplicate ACK begins recovery, which sends what is lost again and changes nothing else.
//!
//! The paper does not say what happens on a timeout. Here the timeout does not back off, one
//! segment is sent each time while nothing comes back, and the first new ACK restores the window.
//! The duplicate threshold is a parameter, for a path that reorders.

use units::Time;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::events::{Ack, Loss};
use crate::parameters::{Allowed, Parameter, Values};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "rate",
        default: "2.048",
        allowed: Allowed::Range(0.001, 100_000.0),
        meaning: "Rate of the link in Mbit/s; with `rtt` it gives the constant window",
    },
    Parameter {
        name: "rtt",
        default: "500",
        allowed: Allowed::Range(1.0, 100_000.0),
        meaning: "Round-trip time of the link in milliseconds",
    },
    Parameter {
        name: "duplicates",
        default: "one",
        allowed: Allowed::OneOf(&["one", "three"]),
        meaning: "Duplicate ACKs that begin recovery; three where the path reorders",
    },
];

/// CK-STP.
#[derive(Clone, Debug)]
pub struct CkStp {
    window: Window,
    /// The bandwidth-delay product in bytes, at least one segment.
    product: u64,
    duplicates: u32,
}

impl Listed for CkStp {
    const LISTED: &'static [Entry] = &[Entry {
        name: "ck-stp",
        summary: "Constant window of a known bandwidth-delay product; every loss is a link error",
        source: "Davoli, Spanò, Vignola and Zappatore; what a timeout does is decided here",
        status: Status::Published,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];
    const NEED: Option<Need> = Some(Need::Settings("the rate and the RTT of the link as settings"));

    fn build(settings: &Settings, values: &Values) -> Self {
        let bits_per_millisecond = values.number("rate") * 1000.0;
        let product = whole(bits_per_millisecond * values.number("rtt") / 8.0);
        let product = product.max(u64::from(settings.mss));
        let settings = Settings { initial_window: product, ..*settings };
        let duplicates = if values.word("duplicates") == "one" { 1 } else { 3 };
        Self { window: Window::new(&settings), product, duplicates }
    }
}

impl CkStp {
    fn restore(&mut self) {
        self.window.cwnd = self.product;
    }
}

impl Controller for CkStp {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn grow(&mut self, _ack: &Ack) {
        self.restore();
    }

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.product
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.restore();
    }

    /// One segment, to ask whether the link is back.
    fn on_timeout(&mut self, _loss: &Loss) {
        self.window.cwnd = self.window.mss;
    }

    fn on_idle(&mut self) {}
}

impl TcpPolicy for CkStp {
    fn duplicate_threshold(&self, _configured: u32) -> u32 {
        self.duplicates
    }

    fn backs_off(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Value;

    const MSS: u64 = 1000;

    fn ck_stp(settings: &[(&str, Value)]) -> CkStp {
        let mut values = Values::defaults(PARAMETERS);
        for (name, value) in settings {
            values.set("ck-stp", name, value.clone()).unwrap();
        }
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 2 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        CkStp::build(&settings, &values)
    }

    fn ack() -> Ack {
        Ack {
            now: Time::ZERO,
            acked: MSS,
            flight: 0,
            advertised: u64::MAX,
            srtt: None,
            min_rtt: None,
            cwnd_limited: true,
        }
    }

    const LOSS: Loss = Loss { now: Time::ZERO, flight: 50 * MSS, repeated: false };

    #[test]
    fn the_window_is_the_product_of_rate_and_round_trip_time() {
        // 2048 kbit/s * 500 ms: the 128 kB of the paper.
        assert_eq!(ck_stp(&[]).window.cwnd, 128_000);
        let other = [("rate", Value::Number(10.0)), ("rtt", Value::Number(600.0))];
        assert_eq!(ck_stp(&other).window.cwnd, 750_000);
        let tiny = [("rate", Value::Number(0.001)), ("rtt", Value::Number(1.0))];
        assert_eq!(ck_stp(&tiny).window.cwnd, MSS);
    }

    #[test]
    fn neither_acks_nor_losses_nor_idle_time_change_the_window() {
        let mut ck_stp = ck_stp(&[]);
        ck_stp.on_ack(&ack());
        ck_stp.on_loss(&LOSS);
        assert_eq!(ck_stp.window.cwnd, 128_000);
        ck_stp.window_mut().cwnd += 3 * MSS;
        ck_stp.on_recovery_exit(Time::ZERO);
        ck_stp.on_idle();
        assert_eq!(ck_stp.window.cwnd, 128_000);
    }

    #[test]
    fn while_the_link_is_out_one_segment_is_sent_for_each_timeout() {
        let mut ck_stp = ck_stp(&[]);
        assert!(!ck_stp.backs_off());
        for repeated in [false, true, true] {
            ck_stp.on_timeout(&Loss { repeated, ..LOSS });
            assert_eq!(ck_stp.window.cwnd, MSS);
        }
        ck_stp.on_ack(&ack());
        assert_eq!(ck_stp.window.cwnd, 128_000);
    }

    #[test]
    fn one_duplicate_ack_is_enough_unless_the_path_reorders() {
        assert_eq!(ck_stp(&[]).duplicate_threshold(3), 1);
        let three = [("duplicates", Value::Word("three".into()))];
        assert_eq!(ck_stp(&three).duplicate_threshold(1), 3);
    }
}
