//! SaTCP: CUBIC that recovers faster from a loss that falls near a hand-over between satellites.
//!
//! Source: X. Cao, X. Zhang, "SaTCP: Link-layer informed TCP adaptation for highly dynamic LEO
//! satellite networks", INFOCOM 2023; the rules are those of its patch of Linux's `tcp_cubic.c` in
//! the repository XuyangCaoUCSD/LeoEM (`emulation_stage/satcp`), restated. The paper was not read.
//!
//! A hint that a hand-over comes begins a time in which
//! - a stage of congestion avoidance that begins has a ninth of its K. The curve then begins a
//!   729th of the gap below `W_max`, so that the window is back at it after a few round trips,
//! - a timeout does not forget `W_max` and the state of slow start.
//!
//! The reduction itself is that of CUBIC. So nothing changes unless a loss falls into that time.
//!
//! Decisions:
//! - The state belongs to a flow. In the patch one flag is for all sockets of the host.
//! - The time is counted from the last hint, as in `report_relay.c`, and only hints that a change
//!   is coming begin it. How early they come is a setting of the scenario (`path_hints.lead`).
//! - The base is CUBIC of RFC 9438 or that of Linux, which the patch changes. For the former, a
//!   timeout in that time sets `W_max` as a loss does, which is what the patch leaves of Linux's
//!   rules.

use units::{Span, Time};

use crate::any::AnyController;
use crate::controllers::cubic::{Cubic, LinuxCubic};
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Needs, PathChange, PathChangeKind};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::around::{Around, Hook};
use crate::window::Settings;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "base",
        default: "cubic",
        allowed: Allowed::OneOf(&["cubic", "linux"]),
        meaning: "The controller that is changed: CUBIC of RFC 9438, or that of Linux, which the \
                  authors changed",
    },
    Parameter {
        name: "duration",
        default: "2.3",
        allowed: Allowed::Range(0.001, 600.0),
        meaning: "Seconds after a hint that a hand-over comes in which the changed rules hold \
                  (SATCP_DURATION)",
    },
];

/// The time near a hand-over.
#[derive(Debug)]
pub struct NearHandOver {
    duration: Span,
    /// The end of the present one.
    until: Option<Time>,
}

/// SaTCP.
pub type SaTcp = Around<NearHandOver>;

fn set(inner: &mut AnyController, is_near: bool) {
    match inner {
        AnyController::Cubic(cubic) => cubic.set_near_hand_over(is_near),
        AnyController::LinuxCubic(cubic) => cubic.operations_mut().set_near_hand_over(is_near),
        // `build` makes one of the two.
        _ => {}
    }
}

impl Hook for NearHandOver {
    fn before(&mut self, inner: &mut AnyController, now: Time) {
        if self.until.is_some_and(|until| now >= until) {
            self.until = None;
            set(inner, false);
        }
    }

    fn needs(&self, inner: Needs) -> Needs {
        Needs { path_changes: true, ..inner }
    }

    fn on_path_change(&mut self, inner: &mut AnyController, change: &PathChange) {
        if change.kind == PathChangeKind::Coming {
            self.until = Some(change.now + self.duration);
            set(inner, true);
        }
    }
}

impl Listed for SaTcp {
    const LISTED: &'static [Entry] = &[Entry {
        name: "satcp",
        summary: "CUBIC that climbs back faster after a loss near a hand-over, by hints",
        source: "Cao and Zhang, SaTCP, 2023",
        status: Status::Implementation("LeoEM 4488b00, emulation_stage/satcp"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let inner = match values.word("base") {
            "linux" => {
                let defaults = Values::defaults(LinuxCubic::LISTED[0].parameters);
                AnyController::LinuxCubic(Box::new(LinuxCubic::build(settings, &defaults)))
            }
            _ => {
                let defaults = Values::defaults(Cubic::LISTED[0].parameters);
                AnyController::Cubic(Box::new(Cubic::build(settings, &defaults)))
            }
        };
        let duration = Span::from_secs_f64(values.number("duration"));
        Around::new(inner, NearHandOver { duration, until: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Controller;
    use crate::events::{Ack, Loss, samples};
    use crate::parameters::Value;

    const MSS: u64 = 1000;
    const RTT: Span = Span::from_millis(200);

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    /// In congestion avoidance with a window of 100 segments.
    fn satcp(base: &str) -> SaTcp {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 100 * MSS,
            initial_ssthresh: 100 * MSS,
            byte_counting: 1,
        };
        let mut values = Values::defaults(PARAMETERS);
        values.set("satcp", "base", Value::Word(base.to_owned())).unwrap();
        SaTcp::build(&settings, &values)
    }

    fn hint(milliseconds: u64, kind: PathChangeKind) -> PathChange {
        PathChange { now: at(milliseconds), kind, at: at(milliseconds + 500), phase: 1 }
    }

    fn loss(now: Time, flight: u64) -> Loss {
        Loss { now, flight, repeated: false }
    }

    /// Milliseconds from a loss at `lost_at` until the window is back at what it was.
    fn climb(base: &str, hint_at: Option<u64>, lost_at: u64) -> u64 {
        let mut satcp = satcp(base);
        if let Some(milliseconds) = hint_at {
            satcp.on_path_change(&hint(milliseconds, PathChangeKind::Coming));
            satcp.on_path_change(&hint(milliseconds + 500, PathChangeKind::Done));
        }
        satcp.on_loss(&loss(at(lost_at), 100 * MSS));
        satcp.on_recovery_exit(at(lost_at));
        assert!(satcp.window().cwnd <= 71 * MSS, "the reduction is that of CUBIC");
        let mut now = at(lost_at);
        let mut passed = 0;
        while satcp.window().cwnd < 100 * MSS {
            passed += 1;
            now += Span::from_millis(1);
            let (srtt, min_rtt) = (Some(RTT), Some(RTT));
            // A window in a round trip.
            let acked = satcp.window().cwnd / 200;
            satcp.on_ack(&Ack { now, srtt, min_rtt, ..samples::ack(acked) });
            assert!(passed < 20_000);
        }
        passed
    }

    /// K is cbrt(30 / 0.4) = 4.2 s without a hand-over.
    #[test]
    fn near_a_hand_over_the_window_is_back_after_a_few_round_trips() {
        for base in ["cubic", "linux"] {
            let usual = climb(base, None, 11_000);
            assert!((2500..4500).contains(&usual), "{base}: {usual}");
            let near = climb(base, Some(10_000), 11_000);
            assert!((200..1300).contains(&near), "{base}: {near}");
            assert_eq!(climb(base, Some(10_000), 12_300), usual, "{base}: it is over");
            // Within a tick of Linux.
            let last = climb(base, Some(10_000), 12_290);
            assert!(last.abs_diff(near) <= 4, "{base}: {last} and {near}, it is not");
        }
    }

    /// Milliseconds that the window needs from ssthresh to 100 segments after a timeout.
    fn climb_after_timeout(base: &str, is_near: bool) -> u64 {
        let mut satcp = satcp(base);
        if is_near {
            satcp.on_path_change(&hint(10_000, PathChangeKind::Coming));
        }
        satcp.on_timeout(&loss(at(10_500), 100 * MSS));
        assert_eq!(satcp.window().cwnd, MSS);
        let ssthresh = satcp.window().ssthresh;
        satcp.window_mut().cwnd = ssthresh;
        let (mut now, mut passed) = (at(10_600), 0);
        while satcp.window().cwnd < 100 * MSS {
            passed += 1;
            now += Span::from_millis(1);
            let acked = satcp.window().cwnd / 200;
            satcp.on_ack(&Ack { now, srtt: Some(RTT), min_rtt: Some(RTT), ..samples::ack(acked) });
            assert!(passed < 20_000);
        }
        passed
    }

    #[test]
    fn a_timeout_near_a_hand_over_keeps_the_window_to_climb_to() {
        for base in ["cubic", "linux"] {
            let (usual, near) = (climb_after_timeout(base, false), climb_after_timeout(base, true));
            assert!(near < 1300 && 4 * usual > 5 * near, "{base}: {usual} {near}");
        }
    }
}
