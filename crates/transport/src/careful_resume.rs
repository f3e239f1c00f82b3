//! Careful Resume: a connection starts with the saved parameters of an earlier one on the same
//! path.
//!
//! Source: RFC 9959, read as draft-ietf-tsvwg-careful-resume (revision 24). It works with every
//! controller, and overrides its window for a few round trips:
//!
//! - Reconnaissance: the controller starts as always. When all initial data is acknowledged without
//!   a loss, and the RTT is that of the saved path, it jumps.
//! - Unvalidated: cwnd = at most half of the saved window, paced over the current RTT. `PipeSize`
//!   starts with the flight size and grows by the acknowledged part of the data sent since. The
//!   phase ends when the window of the jump is used, one of its segments is acknowledged, or an RTT
//!   is over. Unused window from the jump is returned.
//! - Validating: the controller's growth, until the last unvalidated segment is acknowledged.
//! - Safe Retreat, after a loss in these two: cwnd = `PipeSize` / 2 and no growth until the last of
//!   the unvalidated data is acknowledged and recovery is over; then ssthresh = `PipeSize` / 2.
//!
//! Decisions: the saved parameters always belong to this path and are never too old. In Safe
//! Retreat `PipeSize` counts data acknowledged by SACK, because the cumulative ACK also covers
//! retransmissions. cwnd is never below two segments.

use units::{Bytes, SizeLimit, Span, Time};

use congestion::{Feedback, Needs, Window};

/// Another path when the RTT is at most this share of the saved one,
const SHORTEST_RTT: u64 = 2;
/// or more than this multiple of it.
const LONGEST_RTT: u64 = 10;
/// Beta: what ssthresh keeps of `PipeSize` after a retreat.
const BETA_DIVISOR: u64 = 2;

/// Saved parameters of an earlier connection (RFC 9959).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(deny_unknown_fields))]
pub struct SavedPath {
    /// Bytes acknowledged in a round-trip time: `saved_cwnd` of the RFC.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))
    )]
    pub saved_cwnd: Bytes,
    /// Minimum round-trip time. The path is taken as a different one if its RTT is at most half or
    /// more than ten times as long.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "60s")))]
    pub saved_rtt: Span,
    /// Maximum window after the jump.
    #[cfg_attr(feature = "schema", serde(default = "SavedPath::no_limit"))]
    pub max_jump: SizeLimit,
}

impl SavedPath {
    /// The window to jump to, in bytes: half of the saved one at most.
    pub fn jump(&self) -> u64 {
        self.max_jump.get().min(self.saved_cwnd.get() / 2)
    }

    /// The path is taken as the saved one if its RTT is above the first of these and at most the
    /// second.
    pub fn rtts(&self) -> [Span; 2] {
        let shortest = Span::from_nanos(self.saved_rtt.as_nanos() / SHORTEST_RTT);
        [shortest, self.saved_rtt * LONGEST_RTT]
    }

    #[cfg(feature = "schema")]
    fn no_limit() -> SizeLimit {
        SizeLimit::UNLIMITED
    }
}

/// Phase of Careful Resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumePhase {
    /// Before the jump.
    Reconnaissance,
    /// Sending more than the controller would.
    Unvalidated,
    /// Waiting for what was sent beyond.
    Validating,
    /// It was too much.
    SafeRetreat,
    /// Careful Resume is over.
    Normal,
}

/// Careful Resume for one connection.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    saved: SavedPath,
    phase: ResumePhase,
    /// Position behind the initial data; known with the first ACK.
    initial_end: Option<u64>,
    /// The unvalidated data: from here
    first: u64,
    /// up to here.
    last: u64,
    /// Up to where it is acknowledged.
    validated: u64,
    pipe_size: u64,
    /// Time of the jump, and the RTT at that time.
    jumped: (Time, Span),
    /// cwnd is held at this, in Unvalidated and Safe Retreat.
    held: u64,
}

impl CarefulResume {
    /// Careful Resume of a new connection.
    pub fn new(saved: SavedPath) -> Self {
        Self {
            saved,
            phase: ResumePhase::Reconnaissance,
            initial_end: None,
            first: 0,
            last: 0,
            validated: 0,
            pipe_size: 0,
            jumped: (Time::ZERO, Span::ZERO),
            held: 0,
        }
    }

    /// Careful Resume of a protocol whose handshake counts as data, such as QUIC: all initial data
    /// is acknowledged when this many bytes are, and not when the first packets of the handshake
    /// are.
    #[must_use]
    pub fn after(mut self, initial_data: u64) -> Self {
        self.initial_end = Some(initial_data);
        self
    }

    /// Events that it needs, in addition to those of the controller.
    pub fn needs() -> Needs {
        Needs { feedback: true, pacing: true, ..Needs::default() }
    }

    /// The phase.
    pub fn phase(&self) -> ResumePhase {
        self.phase
    }

    /// An ACK arrived; comes before what the controller makes of it.
    pub fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        let flight = feedback.sent.saturating_sub(feedback.acknowledged);
        match self.phase {
            ResumePhase::Normal => {}
            ResumePhase::Reconnaissance => self.reconnoitre(feedback, flight, window),
            ResumePhase::Unvalidated => {
                self.count(feedback);
                let (since, rtt) = self.jumped;
                let answered = feedback.acknowledged > self.first;
                if answered || feedback.now.since(since) > rtt {
                    self.end_jump(flight, feedback.sent, window);
                }
            }
            ResumePhase::Validating => {
                self.count(feedback);
                if feedback.acknowledged >= self.last {
                    self.phase = ResumePhase::Normal;
                }
            }
            ResumePhase::SafeRetreat => {
                self.pipe_size += feedback.sacked;
                if feedback.acknowledged >= self.last && !feedback.recovering {
                    let ssthresh = self.pipe_size / BETA_DIVISOR;
                    window.ssthresh = ssthresh.max(2 * window.mss);
                    self.phase = ResumePhase::Normal;
                }
            }
        }
    }

    /// Jumps when the path is the saved one and all initial data has arrived.
    fn reconnoitre(&mut self, feedback: &Feedback, flight: u64, window: &mut Window) {
        let initial_end = *self.initial_end.get_or_insert(feedback.sent);
        if feedback.recovering {
            self.phase = ResumePhase::Normal;
        }
        if self.phase == ResumePhase::Normal || feedback.acknowledged < initial_end {
            return;
        }
        let (Some(min_rtt), Some(rtt)) = (feedback.min_rtt, feedback.round_trip.or(feedback.srtt))
        else {
            return;
        };
        let jump = self.saved.jump();
        let [shortest, longest] = self.saved.rtts();
        let same_path = min_rtt > shortest && rtt <= longest;
        if !same_path || jump <= window.cwnd {
            self.phase = ResumePhase::Normal;
            return;
        }
        self.phase = ResumePhase::Unvalidated;
        self.pipe_size = flight;
        self.first = feedback.sent;
        self.last = feedback.sent;
        self.validated = feedback.sent;
        self.jumped = (feedback.now, rtt);
        self.held = jump;
        window.cwnd = jump;
    }

    /// Unvalidated data that is acknowledged belongs to the pipe.
    fn count(&mut self, feedback: &Feedback) {
        let acknowledged = feedback.acknowledged.max(self.validated);
        self.pipe_size += acknowledged - self.validated;
        self.validated = acknowledged;
    }

    /// The jump is over; `flight` bytes are in the network, and `sent` is the end of the last.
    fn end_jump(&mut self, flight: u64, sent: u64, window: &mut Window) {
        if flight < window.initial || flight <= self.pipe_size {
            window.cwnd = self.pipe_size.max(window.initial);
            self.phase = ResumePhase::Normal;
        } else {
            window.cwnd = flight;
            self.last = sent;
            self.phase = ResumePhase::Validating;
        }
    }

    /// The controller has answered an ACK: neither a jump nor a retreat lets cwnd grow.
    pub fn after_ack(&self, window: &mut Window) {
        if matches!(self.phase, ResumePhase::Unvalidated | ResumePhase::SafeRetreat) {
            window.cwnd = window.cwnd.min(self.held);
        }
    }

    /// New data was sent, up to `sent`; `flight` bytes are in the network with it.
    pub fn on_sent(&mut self, flight: u64, sent: u64, window: &mut Window) {
        if self.phase == ResumePhase::Unvalidated {
            self.last = sent;
            if flight + window.mss > window.cwnd {
                self.end_jump(flight, sent, window);
            }
        }
    }

    /// A loss or a mark was found, and the controller has answered it.
    pub fn on_loss(&mut self, window: &mut Window) {
        match self.phase {
            ResumePhase::Reconnaissance => self.phase = ResumePhase::Normal,
            ResumePhase::Unvalidated | ResumePhase::Validating => {
                self.phase = ResumePhase::SafeRetreat;
                self.held = (self.pipe_size / 2).max(2 * window.mss);
                window.cwnd = self.held;
                window.ssthresh = self.held;
            }
            ResumePhase::SafeRetreat | ResumePhase::Normal => {}
        }
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self) {
        self.phase = ResumePhase::Normal;
    }

    /// The rate, in bytes per second, of the jump: the window in each RTT.
    pub fn pacing_rate(&self) -> Option<f64> {
        let jumping = self.phase == ResumePhase::Unvalidated && self.jumped.1 > Span::ZERO;
        jumping.then(|| self.held as f64 / self.jumped.1.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use congestion::Settings;

    use super::*;

    const MSS: u64 = 1000;

    const RTT: u64 = 600;

    fn window() -> Window {
        Window::new(&Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        })
    }

    fn saved(segments: u64) -> SavedPath {
        SavedPath {
            saved_cwnd: Bytes(segments * MSS),
            saved_rtt: Span::from_millis(RTT),
            max_jump: SizeLimit::UNLIMITED,
        }
    }

    /// An ACK up to segment `acknowledged` of a sender that has sent `sent`.
    fn ack(now: u64, acknowledged: u64, sent: u64) -> Feedback {
        let rtt = Some(Span::from_millis(RTT));
        Feedback {
            now: Time::from_nanos(now * 1_000_000),
            acked: MSS,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: rtt,
            srtt: rtt,
            min_rtt: rtt,
            acknowledged: acknowledged * MSS,
            sent: sent * MSS,
            pipe: (sent - acknowledged) * MSS,
            advertised: u64::MAX,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: None,
        }
    }

    /// Segments 1 to 10 are the initial data; 29 are in flight when all of it is acknowledged.
    fn jumped() -> (CarefulResume, Window) {
        let (mut resume, mut window) = (CarefulResume::new(saved(300)), window());
        resume.on_feedback(&ack(600, 1, 10), &mut window);
        assert_eq!(resume.phase, ResumePhase::Reconnaissance);
        resume.on_feedback(&ack(610, 10, 39), &mut window);
        (resume, window)
    }

    /// Sends what the jump allows.
    fn all_sent() -> (CarefulResume, Window) {
        let (mut resume, mut window) = jumped();
        for i in 1..=121 {
            assert_eq!(resume.phase, ResumePhase::Unvalidated, "{i}");
            resume.on_sent((29 + i) * MSS, (39 + i) * MSS, &mut window);
        }
        (resume, window)
    }

    /// The n-th segment of the jump counted as in the example, from the first of the 29.
    fn packet(number: u64) -> u64 {
        10 + number
    }

    #[test]
    fn with_29_segments_in_flight_it_jumps_to_150_and_sends_121_more() {
        let (resume, window) = jumped();
        assert_eq!((resume.phase, window.cwnd), (ResumePhase::Unvalidated, 150 * MSS));
        assert_eq!(resume.pipe_size, 29 * MSS);
        let (resume, window) = all_sent();
        assert_eq!((resume.phase, window.cwnd), (ResumePhase::Validating, 150 * MSS));
    }

    #[test]
    fn when_the_64th_segment_is_lost_the_window_is_half_of_63() {
        let (mut resume, mut window) = all_sent();
        for number in 1..=63 {
            resume.on_feedback(&ack(1200, packet(number), packet(150)), &mut window);
        }
        resume.on_loss(&mut window);
        assert_eq!(resume.pipe_size, 63 * MSS);
        assert_eq!((resume.phase, window.cwnd / MSS), (ResumePhase::SafeRetreat, 31));
    }

    #[test]
    fn a_retreat_holds_the_window_and_ends_with_half_of_what_arrived_as_ssthresh() {
        let (mut resume, mut window) = all_sent();
        resume.on_feedback(&ack(1200, packet(63), packet(150)), &mut window);
        resume.on_loss(&mut window);
        let recovering = Feedback { recovering: true, ..ack(1300, packet(63), packet(150)) };
        for _ in 65..=150 {
            resume.on_feedback(&Feedback { sacked: MSS, ..recovering }, &mut window);
            window.cwnd += MSS;
            resume.after_ack(&mut window);
            assert_eq!(window.cwnd, 31_500);
        }
        let last = Feedback { acknowledged: packet(150) * MSS, ..recovering };
        resume.on_feedback(&last, &mut window);
        assert_eq!(resume.phase, ResumePhase::SafeRetreat, "recovery lasts");
        resume.on_feedback(&Feedback { recovering: false, ..last }, &mut window);
        assert_eq!((resume.phase, window.ssthresh), (ResumePhase::Normal, 149 * MSS / 2));
        assert_eq!(window.cwnd, 31_500);
    }

    #[test]
    fn without_a_loss_it_is_over_when_the_last_unvalidated_segment_is_acknowledged() {
        let (mut resume, mut window) = all_sent();
        resume.on_feedback(&ack(1200, packet(149), packet(200)), &mut window);
        window.cwnd += MSS;
        resume.after_ack(&mut window);
        assert_eq!((resume.phase, window.cwnd), (ResumePhase::Validating, 151 * MSS));
        resume.on_feedback(&ack(1210, packet(150), packet(200)), &mut window);
        assert_eq!(resume.phase, ResumePhase::Normal);
        resume.on_loss(&mut window);
        assert_eq!(window.cwnd, 151 * MSS, "the controller's business again");
    }

    #[test]
    fn what_is_not_used_of_the_jump_is_given_back() {
        let (mut resume, mut window) = jumped();
        for i in 1..=50 {
            resume.on_sent((29 + i) * MSS, (39 + i) * MSS, &mut window);
        }
        // The ACK for the first unvalidated segment: 49 remain.
        resume.on_feedback(&ack(1211, packet(30), packet(79)), &mut window);
        assert_eq!((resume.phase, window.cwnd), (ResumePhase::Validating, 49 * MSS));
    }

    #[test]
    fn a_sender_with_little_to_send_goes_on_with_what_it_used() {
        let (mut resume, mut window) = jumped();
        resume.on_feedback(&ack(1300, packet(29), packet(29)), &mut window);
        assert_eq!((resume.phase, window.cwnd), (ResumePhase::Normal, 29 * MSS));
    }

    #[test]
    fn the_jump_is_paced_over_the_current_rtt() {
        let (resume, _) = jumped();
        assert_eq!(resume.pacing_rate(), Some(250_000.0));
        assert_eq!(all_sent().0.pacing_rate(), None);
    }

    #[test]
    fn the_jump_is_no_larger_than_max_jump() {
        let mut resume = CarefulResume::new(SavedPath {
            max_jump: SizeLimit::of(Bytes(40 * MSS)),
            ..saved(300)
        });
        let mut window = window();
        resume.on_feedback(&ack(600, 1, 10), &mut window);
        resume.on_feedback(&ack(610, 10, 39), &mut window);
        assert_eq!(window.cwnd, 40 * MSS);
    }

    #[test]
    fn another_path_is_told_by_its_rtt() {
        for (milliseconds, phase) in [
            (300, ResumePhase::Normal),
            (301, ResumePhase::Unvalidated),
            (6000, ResumePhase::Unvalidated),
            (6001, ResumePhase::Normal),
        ] {
            let (mut resume, mut window) = (CarefulResume::new(saved(300)), window());
            let rtt = Some(Span::from_millis(milliseconds));
            let ack = Feedback { round_trip: rtt, min_rtt: rtt, ..ack(600, 0, 10) };
            resume.on_feedback(&ack, &mut window);
            resume.on_feedback(&Feedback { acknowledged: 10 * MSS, ..ack }, &mut window);
            assert_eq!(resume.phase, phase, "{milliseconds}");
            assert_eq!(window.cwnd == 10 * MSS, phase == ResumePhase::Normal);
        }
    }

    #[test]
    fn a_loss_of_initial_data_ends_it_before_it_begins() {
        let (mut resume, mut window) = (CarefulResume::new(saved(300)), window());
        resume.on_feedback(&ack(600, 1, 10), &mut window);
        resume.on_loss(&mut window);
        resume.on_feedback(&ack(610, 10, 39), &mut window);
        assert_eq!((resume.phase, window.cwnd), (ResumePhase::Normal, 10 * MSS));
    }

    #[test]
    fn a_timeout_ends_it_in_any_phase() {
        for mut resume in [CarefulResume::new(saved(300)), jumped().0, all_sent().0] {
            resume.on_timeout();
            let mut window = window();
            resume.on_feedback(&ack(9000, packet(150), packet(150)), &mut window);
            resume.on_loss(&mut window);
            assert_eq!((resume.phase, window.cwnd), (ResumePhase::Normal, 10 * MSS));
        }
    }

    #[test]
    fn a_handshake_is_no_initial_data() {
        let mut window = window();
        let mut resume = CarefulResume::new(saved(300)).after(window.initial);
        resume.on_feedback(&ack(600, 3, 3), &mut window);
        resume.on_feedback(&ack(1200, 9, 13), &mut window);
        assert_eq!(resume.phase, ResumePhase::Reconnaissance, "three segments were the handshake");
        resume.on_feedback(&ack(1210, 10, 15), &mut window);
        assert_eq!((resume.phase, window.cwnd), (ResumePhase::Unvalidated, 150 * MSS));
    }

    #[test]
    fn a_saved_window_that_is_no_larger_than_the_own_changes_nothing() {
        let (mut resume, mut window) = (CarefulResume::new(saved(20)), window());
        resume.on_feedback(&ack(600, 1, 10), &mut window);
        resume.on_feedback(&ack(610, 10, 20), &mut window);
        assert_eq!((resume.phase, window.cwnd), (ResumePhase::Normal, 10 * MSS));
    }

    #[test]
    fn a_window_of_100_000_segments_is_resumed() {
        let (mut resume, mut window) = (CarefulResume::new(saved(200_000)), window());
        resume.on_feedback(&ack(600, 1, 10), &mut window);
        resume.on_feedback(&ack(610, 10, 39), &mut window);
        assert_eq!(window.cwnd, 100_000 * MSS);
    }
}
