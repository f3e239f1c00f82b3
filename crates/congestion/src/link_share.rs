//! A window from the measured utilisation of a link that connections share.
//!
//! Source: SaTPEP, a TCP performance enhancing proxy for satellite links (Networking 2002; the
//! abstract): a gateway measures the utilisation of the satellite link, and gives each connection a
//! window for the rate that is free. Reconstructed are the rules:
//!
//! - In each interval the gateway measures which part of its rate `C` was sent. The rest is free,
//!   and the connections share it equally. With `n` connections and the round trip `R`, the window
//!   is what was in flight, and `free * R / n`.
//! - The window is at least the connection's share of the whole link, `C * R / n`, with which it
//!   begins. So a connection that begins on a full link has its share after a round trip: those
//!   with more send less, and then have less in flight.
//! - Losses and timeouts leave the window as it is: what is missing is reported by negative
//!   acknowledgements.
//!
//! One connection has a window of `C * R`. If one of two has nothing to send, the other takes half
//! of what is free in each interval. It needs a place that knows the rate of the link, so it is not
//! in the list of controllers. A preset of split proxies chooses it.

use crate::any::AnyController;
use crate::controller::Controller;
use crate::entry::{Entry, Repair, Status};
use crate::events::{Ack, Loss, Needs, PartialAck, Utilisation};
use crate::parts::linux::ORIGINAL;
use crate::registry::Registered;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

/// The largest window that a receive buffer allows.
const LARGEST: f64 = (1_u64 << 30) as f64;

const ENTRY: Entry = Entry {
    name: "link-share",
    summary: "the window follows the part of the link's rate that is free, as a gateway measures it",
    source: "SaTPEP, Networking 2002 (abstract)",
    status: Status::Reconstructed,
    repair: Repair::SelectiveAcks,
    parameters: &[],
};

pub(crate) static REGISTERED: Registered = Registered {
    entry: &ENTRY,
    variant: ORIGINAL,
    need: None,
    ordered: &[],
    build: |settings, _| AnyController::External(Box::new(LinkShare::new(settings))),
};

#[derive(Clone, Debug)]
struct LinkShare {
    window: Window,
    least: f64,
    /// The most that was in flight since the last measurement, in bytes.
    in_flight: u64,
}

impl LinkShare {
    fn new(settings: &Settings) -> Self {
        let least = f64::from(2 * settings.mss);
        Self { window: Window::new(settings), least, in_flight: 0 }
    }
}

impl Controller for LinkShare {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { utilisation: true, ..Needs::default() }
    }

    fn on_utilisation(&mut self, measured: &Utilisation) {
        let Utilisation { rate, used, connections, flight, srtt } = *measured;
        let share = rate * srtt.as_secs_f64() / f64::from(connections.max(1));
        let in_flight = self.in_flight.max(flight).min(self.window.cwnd);
        let wanted = (in_flight as f64 + (1.0 - used).max(0.0) * share).max(share);
        self.in_flight = flight;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let cwnd = wanted.clamp(self.least, LARGEST) as u64;
        self.window.cwnd = cwnd;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.in_flight = self.in_flight.max(ack.flight + ack.acked);
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_congestion_mark(&mut self, _loss: &Loss) {}

    fn on_partial_ack(&mut self, _partial: &PartialAck) {}

    fn on_recovery_exit(&mut self, _now: units::Time) {}

    fn on_timeout(&mut self, _loss: &Loss) {}

    fn on_idle(&mut self) {}
}

impl TcpPolicy for LinkShare {}

#[cfg(test)]
mod tests {
    use units::{Span, Time};

    use super::*;

    const RATE: f64 = 1e6;
    const ROUND_TRIP: Span = Span::from_millis(500);
    /// `RATE * ROUND_TRIP`.
    const PRODUCT: u64 = 500_000;

    fn connection() -> LinkShare {
        LinkShare::new(&Settings {
            mss: 1000,
            initial_window: 10_000,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        })
    }

    /// Utilisation measured of `n` connections that send their windows in each round trip.
    fn measured(all: &[LinkShare], flight: u64, n: u32) -> Utilisation {
        let sent: u64 = all.iter().map(|one| one.window.cwnd).sum();
        let used = sent as f64 / (RATE * ROUND_TRIP.as_secs_f64());
        Utilisation { rate: RATE, used: used.min(1.0), connections: n, flight, srtt: ROUND_TRIP }
    }

    /// Lets an interval pass.
    fn interval(all: &mut [LinkShare], n: u32) {
        let before = all.to_vec();
        for one in all {
            one.on_utilisation(&measured(&before, one.window.cwnd, n));
        }
    }

    #[test]
    fn a_connection_begins_with_its_share_and_keeps_the_product() {
        let mut one = [connection()];
        interval(&mut one, 1);
        assert_eq!(one[0].window.cwnd, PRODUCT);
        interval(&mut one, 1);
        assert_eq!(one[0].window.cwnd, PRODUCT);
        // From any smaller window it has the product after one interval.
        one[0].window.cwnd = 20_000;
        one[0].in_flight = 0;
        interval(&mut one, 1);
        assert_eq!(one[0].window.cwnd, PRODUCT);
    }

    #[test]
    fn what_is_free_is_shared_equally() {
        let mut two = [connection(), connection()];
        interval(&mut two, 2);
        assert_eq!(two.each_ref().map(|one| one.window.cwnd), [PRODUCT / 2; 2]);
        for (one, cwnd) in two.iter_mut().zip([100_000, 300_000]) {
            one.window.cwnd = cwnd;
            one.in_flight = 0;
        }
        interval(&mut two, 2);
        // 100,000 bytes of the product were free, and the first had less than its share.
        assert_eq!(two.each_ref().map(|one| one.window.cwnd), [PRODUCT / 2, 350_000]);
    }

    /// The part that is free falls to a half in each interval if one of two connections has nothing
    /// to send.
    #[test]
    fn a_connection_that_sends_takes_what_the_other_leaves() {
        let mut sends = [connection()];
        interval(&mut sends, 2);
        let mut left = PRODUCT - sends[0].window.cwnd;
        assert!(left <= PRODUCT / 2, "{left}: it begins with its share");
        for round in 1..12 {
            interval(&mut sends, 2);
            let now = PRODUCT - sends[0].window.cwnd;
            assert!((2 * now).abs_diff(left) <= 4, "{round}: {now} after {left}");
            left = now;
        }
    }

    #[test]
    fn losses_change_nothing() {
        let mut one = connection();
        one.on_utilisation(&measured(&[], 0, 1));
        let loss = Loss { now: Time::ZERO, flight: 10_000, repeated: false };
        one.on_loss(&loss);
        one.on_timeout(&loss);
        one.on_congestion_mark(&loss);
        one.on_recovery_exit(Time::ZERO);
        one.on_idle();
        assert_eq!(one.window.cwnd, PRODUCT);
    }
}
