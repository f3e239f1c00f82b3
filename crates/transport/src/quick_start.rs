//! Quick-Start, the sender: a connection asks the routers on its path for a rate in its SYN, and
//! starts with the window that this rate fills.
//!
//! Source: RFC 4782, sections 3 and 4, of which only excerpts could be read, and ns-2.35
//! (`tcp/tcp.cc`: `processQuickStart`, `endQuickStart`, `lossQuickStart`). It works with every
//! controller, and overrides its window for the first round trip. The routers are in the crate
//! `link`.
//!
//! - Request: the SYN, or the SYN with ACK of an end that was called, asks for a rate. Routers
//!   lower it, and the receiver returns it. A retransmitted SYN asks for nothing.
//! - Response: it counts if the routers of all links have treated the request (the TTL difference
//!   of the RFC), if its rate is above zero, and if it is no more than was asked for. Otherwise the
//!   connection starts as without Quick-Start. The next segment reports the approved rate, or zero.
//! - Start: cwnd = R T / (MSS + H) segments, with the RTT T of the request and headers of H bytes,
//!   if that is more than the initial window. Its segments are paced at the approved rate.
//! - End: with the first ACK of a segment of this window, or after one RTT. cwnd becomes the data
//!   that was sent, and no less than the initial window.
//! - Loss or mark in this window: cwnd is the initial window, and grows as in slow start up to
//!   ssthresh = half of the data that has arrived. During recovery only ACKs that move on count, by
//!   a segment each: those of retransmissions, and not of the rest of this window. After recovery
//!   the controller's rules hold.
//!
//! Decisions:
//! - The option adds no bytes to packets, and there is no QS Nonce: no receiver lies here.
//! - Only the end that sends the data of a flow asks. Requests after idle periods (section 4 allows
//!   them) are left out.
//! - The rule for ssthresh after a loss is from memory of the RFC: at most half of what was sent
//!   with success. The SACK of the recovery shows what has arrived; without SACK it is what was
//!   acknowledged before the loss.
//! - Data that arrives from the application more than one RTT after the response starts with the
//!   initial window: the approval belongs to the round trip that follows it.

use congestion::Window;
use units::{Rate, Span, Time};
use wire::feedback::{Protocol, Request, Response, quick_start};

/// Quick-Start of one connection.
#[derive(Clone, Debug)]
pub struct QuickStart {
    phase: Phase,
    /// The rate that is asked for in bytes per second.
    wanted: f32,
    /// The rate of the response; zero if it was denied.
    approved: f32,
    report: Option<f32>,
    /// End of the round trip that may use the approval.
    ends_at: Time,
    /// Data of the Quick-Start window: from here
    first: u64,
    /// up to here.
    last: u64,
    /// Everything below is acknowledged.
    una: u64,
    /// cwnd during a retreat.
    held: u64,
    /// Bytes of it that were acknowledged before any were selectively acknowledged, and bytes that
    /// were.
    acknowledged: u64,
    sacked: u64,
    /// The window of the start, and the rate in payload bytes per second at which it leaves.
    window: u64,
    rate: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No SYN has been sent yet.
    Before,
    /// The SYN has asked.
    Asked,
    /// Sends the Quick-Start window.
    Sending,
    /// Waits for the ACK of the last of it.
    Validating,
    /// Some of it was lost.
    Retreating,
    /// Quick-Start is over.
    Over,
}

/// State of a sender when an ACK arrives.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// When it arrived.
    pub now: Time,
    /// Everything below was acknowledged.
    pub acknowledged: u64,
    /// Bytes that it acknowledges selectively for the first time.
    pub sacked: u64,
    /// A recovery lasts.
    pub is_recovering: bool,
}

impl QuickStart {
    /// Quick-Start of a new connection that asks for the largest coded rate up to `rate`.
    pub fn new(rate: Rate) -> Self {
        Self {
            phase: Phase::Before,
            wanted: Self::asked(rate),
            approved: 0.0,
            report: None,
            ends_at: Time::NEVER,
            first: 0,
            last: 0,
            una: 0,
            held: 0,
            acknowledged: 0,
            sacked: 0,
            window: 0,
            rate: 0.0,
        }
    }

    /// The rate in bytes per second that a sender asks for, as the protocol codes it.
    pub fn asked(rate: Rate) -> f32 {
        quick_start::round_down(rate.bits_per_second() as f64 / 8.0)
    }

    /// This end asks for nothing; it only returns what the other end has asked for.
    pub fn only_answer(&mut self) {
        self.phase = Phase::Over;
    }

    /// The request of a SYN that is sent now; only the first one has any.
    pub fn request(&mut self) -> Option<Request> {
        let is_first = self.phase == Phase::Before;
        self.phase = if is_first { Phase::Asked } else { Phase::Over };
        is_first.then_some(Request {
            protocol: Protocol::QuickStart,
            rate: self.wanted,
            round_trip: 0.0,
            spacing: 0.0,
            treated: 0,
            links: 0,
        })
    }

    /// The other end returns what routers have made of the request.
    pub fn on_response(&mut self, response: &Response) {
        if self.phase != Phase::Asked || response.protocol != Protocol::QuickStart {
            return;
        }
        let is_valid = response.is_complete && response.rate <= self.wanted;
        self.approved = if is_valid { response.rate } else { 0.0 };
        self.report = Some(self.approved);
    }

    /// The Report of Approved Rate that the next segment carries.
    pub fn take_report(&mut self) -> Option<f32> {
        self.report.take()
    }

    /// The connection is open. The request and its response have taken `round_trip`, and segments
    /// have headers of `headers` bytes. The data begins at `first`.
    pub fn start(
        &mut self,
        now: Time,
        round_trip: Option<Span>,
        headers: u64,
        first: u64,
        window: &mut Window,
    ) {
        let is_answered = self.phase == Phase::Asked && self.approved > 0.0;
        self.phase = Phase::Over;
        let (true, Some(round_trip)) = (is_answered, round_trip) else { return };
        let seconds = round_trip.as_secs_f64();
        let segments = f64::from(self.approved) * seconds / (window.mss + headers) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate of at most 1.3 Gbit/s for a round trip"
        )]
        let start = segments as u64 * window.mss;
        if start <= window.cwnd {
            return;
        }
        self.phase = Phase::Sending;
        (self.first, self.last) = (first, first);
        self.ends_at = now + round_trip;
        self.window = start;
        self.rate = f64::from(self.approved) * window.mss as f64 / (window.mss + headers) as f64;
        window.cwnd = start;
    }

    /// New data up to `sent` is about to leave.
    pub fn before_sending(&mut self, now: Time, sent: u64, window: &mut Window) {
        if self.phase == Phase::Sending {
            if now > self.ends_at {
                self.end(window);
            } else {
                self.last = sent;
            }
        }
    }

    /// An ACK arrived; comes before the controller.
    pub fn on_ack(&mut self, ack: &Acknowledged, window: &mut Window) {
        if self.phase == Phase::Sending && (ack.acknowledged > self.first || ack.now > self.ends_at)
        {
            self.end(window);
        }
        match self.phase {
            Phase::Validating => {
                self.sacked += ack.sacked;
                if self.sacked == 0 {
                    self.acknowledged = ack.acknowledged - self.first;
                }
                if ack.acknowledged >= self.last {
                    self.phase = Phase::Over;
                }
            }
            Phase::Retreating => {
                self.sacked += ack.sacked;
                let moved = ack.acknowledged - self.una;
                let most = self.half_of_arrived(window).max(window.initial);
                self.held = most.min(self.held + moved.min(window.mss));
                if ack.acknowledged >= self.last && !ack.is_recovering {
                    window.ssthresh = self.half_of_arrived(window);
                    self.phase = Phase::Over;
                }
            }
            Phase::Before | Phase::Asked | Phase::Sending | Phase::Over => {}
        }
        self.una = ack.acknowledged;
    }

    fn end(&mut self, window: &mut Window) {
        let used = self.last - self.first;
        window.cwnd = window.cwnd.min(used.max(window.initial));
        self.phase = if used > 0 { Phase::Validating } else { Phase::Over };
    }

    fn half_of_arrived(&self, window: &Window) -> u64 {
        let arrived = (self.acknowledged + self.sacked).min(self.last - self.first);
        (arrived / 2).max(2 * window.mss)
    }

    /// The controller has answered an ACK: in a retreat cwnd is not its own.
    pub fn after_ack(&self, window: &mut Window) {
        if self.phase == Phase::Retreating {
            window.cwnd = self.held;
        }
    }

    /// A loss or a mark was found, and the controller has answered it.
    pub fn on_loss(&mut self, window: &mut Window) {
        if matches!(self.phase, Phase::Sending | Phase::Validating) {
            self.phase = Phase::Retreating;
            self.held = window.initial;
            window.cwnd = self.held;
            window.ssthresh = window.ssthresh.min(self.half_of_arrived(window));
        }
    }

    /// The retransmission timer expired, and the controller has answered it.
    pub fn on_timeout(&mut self, window: &mut Window) {
        if matches!(self.phase, Phase::Sending | Phase::Validating | Phase::Retreating) {
            window.ssthresh = window.ssthresh.min(self.half_of_arrived(window));
        }
        self.phase = Phase::Over;
    }

    /// The rate, in payload bytes per second, at which the Quick-Start window leaves.
    pub fn pacing_rate(&self) -> Option<f64> {
        (self.phase == Phase::Sending).then_some(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use congestion::Settings;

    use super::*;

    const MSS: u64 = 1000;
    const HEADERS: u64 = 40;
    const RTT: Span = Span::from_millis(520);

    fn window() -> Window {
        Window::new(&Settings {
            mss: 1000,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        })
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn response(kbits: f32, is_complete: bool) -> Response {
        Response { protocol: Protocol::QuickStart, rate: kbits * 125.0, is_complete }
    }

    /// A connection that has asked for 2.56 Mbit/s, is open at 520 ms, and has this response.
    fn started(response: Option<Response>) -> (QuickStart, Window) {
        let (mut quick, mut window) =
            (QuickStart::new(Rate::from_bits_per_second(3_000_000)), window());
        assert_eq!(quick.request().unwrap().rate, 320_000.0, "rounded down to a code");
        if let Some(response) = response {
            quick.on_response(&response);
        }
        quick.start(at(520), Some(RTT), HEADERS, 1, &mut window);
        (quick, window)
    }

    /// It has sent all of its window of 160 segments.
    fn all_sent() -> (QuickStart, Window) {
        let (mut quick, mut window) = started(Some(response(2560.0, true)));
        quick.before_sending(at(1000), 1 + 160 * MSS, &mut window);
        (quick, window)
    }

    fn ack(segments: u64, sacked: u64, is_recovering: bool) -> Acknowledged {
        let acknowledged = 1 + segments * MSS;
        Acknowledged { now: at(1040), acknowledged, sacked: sacked * MSS, is_recovering }
    }

    #[test]
    fn the_window_is_the_approved_rate_times_the_rtt_without_headers() {
        let (mut quick, window) = started(Some(response(2560.0, true)));
        // 320 kB/s for 520 ms are 160 segments of 1040 bytes.
        assert_eq!(window.cwnd, 160 * MSS);
        assert_eq!(quick.pacing_rate(), Some(320_000.0 / 1.04));
        assert_eq!((quick.take_report(), quick.take_report()), (Some(320_000.0), None));
    }

    #[test]
    fn a_response_that_does_not_count_changes_nothing() {
        for (answer, report) in [
            (None, None),
            (Some(response(2560.0, false)), Some(0.0)),
            (Some(response(0.0, true)), Some(0.0)),
            (Some(response(5120.0, true)), Some(0.0)),
        ] {
            let (mut quick, window) = started(answer);
            assert_eq!(window.cwnd, 10 * MSS, "{answer:?}");
            assert_eq!((quick.take_report(), quick.pacing_rate()), (report, None), "{answer:?}");
        }
        // 80 kbit/s for 520 ms are five segments, fewer than the initial window.
        assert_eq!(started(Some(response(80.0, true))).1.cwnd, 10 * MSS);
    }

    #[test]
    fn only_the_first_syn_asks_and_an_rtt_of_two_syns_is_none() {
        let mut quick = QuickStart::new(Rate::from_bits_per_second(3_000_000));
        assert!(quick.request().is_some() && quick.request().is_none());
        quick.on_response(&response(2560.0, true));
        let mut window = window();
        quick.start(at(520), Some(RTT), HEADERS, 1, &mut window);
        assert_eq!(window.cwnd, 10 * MSS);
    }

    #[test]
    fn the_first_ack_ends_pacing_and_takes_back_what_was_not_sent() {
        let (mut quick, mut window) = all_sent();
        quick.on_ack(&ack(2, 0, false), &mut window);
        assert_eq!((quick.pacing_rate(), window.cwnd), (None, 160 * MSS));
        for (sent, cwnd) in [(40, 40), (4, 10)] {
            let (mut quick, mut window) = started(Some(response(2560.0, true)));
            quick.before_sending(at(600), 1 + sent * MSS, &mut window);
            quick.on_ack(&ack(2, 0, false), &mut window);
            assert_eq!(window.cwnd, cwnd * MSS, "{sent} sent");
        }
    }

    #[test]
    fn an_approval_is_for_one_round_trip() {
        let (mut quick, mut window) = started(Some(response(2560.0, true)));
        quick.before_sending(at(1041), 1 + MSS, &mut window);
        assert_eq!((quick.pacing_rate(), window.cwnd), (None, 10 * MSS));
    }

    #[test]
    fn a_loss_falls_back_to_the_initial_window_and_half_of_what_arrived() {
        let (mut quick, mut window) = all_sent();
        quick.on_ack(&ack(60, 0, false), &mut window);
        quick.on_ack(&ack(60, 3, false), &mut window);
        (window.cwnd, window.ssthresh) = (80 * MSS, 80 * MSS);
        quick.on_loss(&mut window);
        assert_eq!((window.cwnd, window.ssthresh), (10 * MSS, 63 * MSS / 2));
        quick.on_ack(&ack(60, 57, true), &mut window);
        window.cwnd += MSS;
        quick.after_ack(&mut window);
        assert_eq!(window.cwnd, 10 * MSS, "SACKs of this window say nothing of the path now");
        for moved in 61..=200 {
            quick.on_ack(&ack(moved.min(159), 0, true), &mut window);
            quick.after_ack(&mut window);
        }
        assert_eq!(window.cwnd, 60 * MSS, "ssthresh");
        quick.on_ack(&ack(160, 0, false), &mut window);
        window.cwnd = 10 * MSS;
        assert_eq!(window.ssthresh, 60 * MSS, "120 of 160 segments have arrived");
        window.cwnd += MSS;
        quick.after_ack(&mut window);
        assert_eq!(window.cwnd, 11 * MSS, "slow start again");
    }

    #[test]
    fn a_loss_behind_the_quick_start_window_is_the_controllers() {
        let (mut quick, mut window) = all_sent();
        quick.on_ack(&ack(160, 0, false), &mut window);
        window.cwnd = 300 * MSS;
        quick.on_loss(&mut window);
        assert_eq!(window.cwnd, 300 * MSS);
    }

    #[test]
    fn a_timeout_bounds_ssthresh_by_what_arrived() {
        let (mut quick, mut window) = all_sent();
        quick.on_ack(&ack(60, 0, false), &mut window);
        (window.cwnd, window.ssthresh) = (MSS, 80 * MSS);
        quick.on_timeout(&mut window);
        assert_eq!((window.cwnd, window.ssthresh), (MSS, 30 * MSS));
    }

    /// The approval is for one round trip: an ACK of older data ends it then, as new data would.
    #[test]
    fn an_ack_after_the_round_trip_ends_the_start() {
        for (now, is_over) in [(1040, false), (1041, true)] {
            let (mut quick, mut window) = started(Some(response(2560.0, true)));
            quick.before_sending(at(600), 1 + 40 * MSS, &mut window);
            let old = Acknowledged { now: at(now), ..ack(0, 0, false) };
            quick.on_ack(&old, &mut window);
            assert_eq!(quick.pacing_rate().is_none(), is_over, "{now}");
            assert_eq!(window.cwnd, if is_over { 40 * MSS } else { 160 * MSS });
        }
    }
}
