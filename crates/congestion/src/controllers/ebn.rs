//! TCP-EBN: routers tell the sender the rate that is available to it, and its window follows.
//!
//! Source: Dutta and Zhang, "An early bandwidth notification (EBN) architecture for dynamic
//! bandwidth environment", ICC 2002. Only descriptions could be read: the sender sets its window
//! from the rate that routers measure, and reacts promptly to its changes. The rules are
//! reconstructed:
//!
//! - Request: RTT, mean time between packets (RTT / cwnd), and the rate of the receiver's window,
//!   rwnd / RTT. Routers lower it to what is available (crate `link`).
//! - Answer B: the window is W = B srtt, at least one segment, and segments are paced at W / srtt.
//!   cwnd rises to W at once. It falls to W as data in flight is acknowledged, while pacing reduces
//!   the rate at once.
//! - Loss found by duplicate ACKs: W stays, because routers reduce it where there is congestion.
//! - Without answers, or after those of a path on which a link does not speak EBN, it is NewReno
//!   with SACK.
//!
//! Decisions:
//! - Answers count from a round trip after the first one on. Only then have routers counted the
//!   flow, and all others have their new share.
//! - An answer is valid for two round trips. After a timeout or an idle period the sender starts
//!   again.
//! - Without pacing a window that jumps would be lost in the first queue, and one that falls would
//!   silence the sender, so that routers would no longer count the flow.

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::events::{Ack, Loss, Needs, RequestState, RouterFeedback};
use crate::parameters::Values;
use crate::parts::explicit_rate::request;
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};
use wire::feedback::{Protocol, Request};

/// Times of the answers of all routers on the path.
#[derive(Clone, Copy, Debug)]
struct Answers {
    first: Time,
    last: Time,
}

/// Feedback of routers.
#[derive(Clone, Copy, Debug)]
struct Given {
    /// W in bytes.
    window: u64,
    /// Bytes per second at which it leaves.
    rate: f64,
}

/// TCP-EBN.
#[derive(Clone, Debug)]
pub struct Ebn {
    window: Window,
    answers: Option<Answers>,
    /// `None` while TCP determines the window.
    given: Option<Given>,
}

impl Ebn {
    /// The routers no longer determine the window.
    fn forget(&mut self) {
        self.answers = None;
        self.given = None;
    }

    /// Forgets answers that are too old.
    fn expire(&mut self, now: Time, srtt: Span) {
        if self.answers.is_some_and(|answers| now >= answers.last + srtt * 2) {
            self.forget();
        }
    }
}

impl Listed for Ebn {
    const LISTED: &'static [Entry] = &[Entry {
        name: "ebn",
        summary: "TCP-EBN: takes the rate that the routers on the path measure; needs links with EBN",
        source: "Dutta and Zhang, ICC, 2002 (descriptions only)",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: &[],
    }];
    const NEED: Option<Need> = Some(Need::Routers("routers with EBN on all links"));

    fn build(settings: &Settings, _values: &Values) -> Self {
        Self { window: Window::new(settings), answers: None, given: None }
    }
}

impl Controller for Ebn {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs {
            router_feedback: Some(Protocol::Ebn),
            pacing: true,
            own_recovery: true,
            ..Needs::default()
        }
    }

    fn router_request(&mut self, state: &RequestState) -> Option<Request> {
        let wanted = |srtt: f64, _packets: f64| state.advertised as f64 / srtt;
        let Window { cwnd, mss, .. } = self.window;
        let window = self.given.map_or(cwnd, |given| given.window);
        Some(request(Protocol::Ebn, window, mss, state, wanted))
    }

    fn on_router_feedback(&mut self, feedback: &RouterFeedback) {
        let RouterFeedback { now, response, srtt } = *feedback;
        if response.protocol != Protocol::Ebn {
            return;
        }
        let (true, Some(srtt)) = (response.is_complete, srtt) else { return self.forget() };
        self.expire(now, srtt);
        let first = self.answers.map_or(now, |answers| answers.first);
        self.answers = Some(Answers { first, last: now });
        if now < first + srtt {
            return;
        }
        let mss = self.window.mss;
        let seconds = srtt.as_secs_f64();
        let window = whole(f64::from(response.rate) * seconds).max(mss);
        self.window.cwnd = self.window.cwnd.max(window);
        self.window.ssthresh = window.max(2 * mss);
        self.given = Some(Given { window, rate: window as f64 / seconds });
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(srtt) = ack.srtt {
            self.expire(ack.now, srtt);
        }
        match self.given {
            Some(given) => self.window.cwnd = given.window.max(ack.flight + ack.acked),
            None => standard::on_ack(self, ack),
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.given.is_none() {
            standard::on_loss(self, loss);
        }
    }

    fn on_timeout(&mut self, loss: &Loss) {
        standard::on_timeout(self, loss);
        self.forget();
    }

    fn on_idle(&mut self) {
        standard::on_idle(self);
        self.forget();
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.given.map(|given| given.rate)
    }
}

impl TcpPolicy for Ebn {}

#[cfg(test)]
mod tests {
    use wire::feedback::Response;

    use super::*;
    use crate::events::samples::{ack, loss};

    const MSS: u64 = 1000;

    fn ebn() -> Ebn {
        let settings = Settings {
            mss: 1000,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        Ebn::build(&settings, &Values::defaults(&[]))
    }

    /// An answer at `millis` with an RTT of 100 ms.
    fn answer(ebn: &mut Ebn, millis: u64, rate: f32, is_complete: bool) {
        let response = Response { protocol: Protocol::Ebn, rate, is_complete };
        let now = Time::ZERO + Span::from_millis(millis);
        ebn.on_router_feedback(&RouterFeedback {
            now,
            response,
            srtt: Some(Span::from_millis(100)),
        });
    }

    /// One to which routers give 500 kB/s.
    fn explicit() -> Ebn {
        let mut ebn = ebn();
        for millis in [0, 100] {
            answer(&mut ebn, millis, 500_000.0, true);
        }
        ebn
    }

    #[test]
    fn a_request_asks_for_the_rate_of_the_receivers_window() {
        let srtt = Some(Span::from_millis(100));
        let request = ebn().router_request(&RequestState { srtt, advertised: 40 * MSS }).unwrap();
        assert_eq!((request.rate, request.round_trip, request.spacing), (400_000.0, 0.1, 0.01));
    }

    #[test]
    fn the_window_is_that_of_the_rate_a_round_trip_after_the_first_answer() {
        let mut ebn = ebn();
        answer(&mut ebn, 0, 500_000.0, true);
        answer(&mut ebn, 99, 500_000.0, true);
        assert_eq!((ebn.window.cwnd, ebn.pacing_rate()), (10 * MSS, None));
        answer(&mut ebn, 100, 500_000.0, true);
        assert_eq!((ebn.window.cwnd, ebn.pacing_rate()), (50 * MSS, Some(500_000.0)));
        answer(&mut ebn, 110, 0.0, true);
        assert_eq!(ebn.pacing_rate(), Some(10_000.0), "never none");
    }

    #[test]
    fn the_rate_falls_at_once_and_the_window_with_the_data_in_flight() {
        let mut ebn = explicit();
        answer(&mut ebn, 110, 200_000.0, true);
        assert_eq!((ebn.window.cwnd, ebn.pacing_rate()), (50 * MSS, Some(200_000.0)));
        let srtt = Some(Span::from_millis(100));
        let request = ebn.router_request(&RequestState { srtt, advertised: 90 * MSS }).unwrap();
        assert_eq!(request.spacing, 0.005, "of the new rate");
        for (flight, cwnd) in [(40, 42), (17, 20)] {
            ebn.on_ack(&Ack { srtt, flight: flight * MSS, ..ack(2 * MSS) });
            assert_eq!(ebn.window.cwnd, cwnd * MSS);
        }
    }

    #[test]
    fn a_loss_keeps_the_window_where_routers_answer_and_halves_it_elsewhere() {
        let mut controller = ebn();
        controller.on_loss(&loss(10 * MSS));
        assert_eq!(controller.window.cwnd, 5 * MSS);
        let mut controller = explicit();
        controller.on_loss(&loss(50 * MSS));
        assert_eq!(controller.window.cwnd, 50 * MSS);
        answer(&mut controller, 150, 400_000.0, true);
        controller.on_recovery_exit(Time::ZERO);
        assert_eq!(controller.window.cwnd, 40 * MSS);
        controller.on_timeout(&loss(40 * MSS));
        assert_eq!((controller.window.cwnd, controller.pacing_rate()), (MSS, None));
    }

    #[test]
    fn silence_an_incomplete_path_and_idle_periods_give_way_to_tcp() {
        let mut silent = explicit();
        answer(&mut silent, 300, 900_000.0, true);
        assert_eq!((silent.window.cwnd, silent.pacing_rate()), (50 * MSS, None));
        let mut incomplete = explicit();
        answer(&mut incomplete, 110, 900_000.0, false);
        assert_eq!((incomplete.window.cwnd, incomplete.pacing_rate()), (50 * MSS, None));
        let mut idle = explicit();
        idle.on_idle();
        assert_eq!((idle.window.cwnd, idle.pacing_rate()), (10 * MSS, None));
    }
}
