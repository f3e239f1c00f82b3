//! The TCP of Linux as its congestion controllers see it: the window in whole segments, the clock in
//! ticks, and the calls that it makes to them.
//!
//! Source: `net/ipv4/tcp_cong.c`, `tcp_input.c` and `tcp_output.c` of Linux 6.12. A controller of
//! Linux implements [`Operations`], the `tcp_congestion_ops` of the kernel, and [`LinuxController`]
//! calls it as the kernel does. It is used for `variant = "linux"` of controllers whose paper or RFC
//! says otherwise.
//!
//! What all of them share, and what differs from RFC 5681:
//! - cwnd is a number of whole segments. Segments acknowledged are counted until there are enough for
//!   one more (`snd_cwnd_cnt`).
//! - All segments that an ACK covers count, so delayed ACKs do not slow growth down. The limit of
//!   appropriate byte counting has no effect. What exceeds ssthresh counts for avoidance.
//! - A loss reduces cwnd and not the flight size. A timeout calls the same rule.
//!
//! Decisions: the clock ticks 250 times a second, as in the kernels of Debian and Ubuntu. A segment
//! that is not full counts as one, as in the kernel, if each ACK covers one of them at most. The
//! kernel's `CWR` after a mark and its recovery are one state here.

use std::fmt::Debug;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Ecn, Feedback, Loss, Needs, Sent};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::delivery_model::draw;
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

/// The word for the algorithm of the paper or RFC.
pub const ORIGINAL: &str = "original";
/// The word for the one of Linux.
pub const LINUX: &str = "linux";

/// The parameter by which a scenario chooses.
pub const VARIANT: Parameter = Parameter {
    name: "variant",
    default: ORIGINAL,
    allowed: Allowed::OneOf(&[ORIGINAL, LINUX]),
    meaning: "The algorithm of its source, or that of Linux's controller of this name, which takes no \
              other parameters",
};

/// The parameters of a controller of Linux.
pub(crate) const PARAMETERS: &[Parameter] = &[Parameter { default: LINUX, ..VARIANT }];

/// The entry of Linux's variant of a controller: its name, summary, source, and the file of the kernel.
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
    tcp: false,
};

/// Ticks of the clock in a second (`CONFIG_HZ`).
pub(crate) const HZ: u64 = 250;

/// Time in ticks (`tcp_jiffies32`).
pub(crate) fn jiffies(now: Time) -> u64 {
    let second = Span::from_secs(1).as_nanos();
    #[expect(clippy::cast_possible_truncation, reason = "fewer ticks than nanoseconds")]
    let ticks = (u128::from(now.as_nanos()) * u128::from(HZ) / u128::from(second)) as u64;
    ticks
}

/// A random number (`get_random_u32`), the same in each run of a scenario.
#[expect(clippy::cast_possible_truncation, reason = "a share below one of the largest")]
#[expect(clippy::cast_sign_loss, reason = "no share is negative")]
pub(crate) fn random(socket: &Socket) -> u32 {
    (draw(socket.now, socket.acknowledged) * f64::from(u32::MAX)) as u32
}

/// A span in ticks, rounded up (`usecs_to_jiffies`).
pub(crate) fn ticks(microseconds: u64) -> u64 {
    (microseconds * HZ).div_ceil(1_000_000)
}

/// The state of loss recovery (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// No loss.
    #[default]
    Open,
    /// Segments are acknowledged selectively, and none is taken for lost yet.
    Disorder,
    /// A loss is repaired.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// What a controller sees of the connection (`tcp_sock`). Windows are in segments.
#[derive(Clone, Debug)]
pub struct Socket {
    window: Window,
    /// Segments acknowledged that count for the next one of cwnd (`snd_cwnd_cnt`).
    pub(crate) count: u64,
    pub(crate) state: State,
    pub(crate) now: Time,
    /// Stream position up to which everything is acknowledged (`snd_una`).
    pub(crate) acknowledged: u64,
    /// Stream position after the last byte sent (`snd_nxt`).
    pub(crate) sent: u64,
    /// Smoothed round-trip time in microseconds.
    pub(crate) srtt: u64,
    /// Time of the last transmission (`lsndtime`).
    last_sent: Time,
    /// What was sent when the retransmission timer expired (`high_seq`).
    recover: u64,
}

impl Socket {
    fn new(settings: &Settings) -> Self {
        Self {
            window: Window::new(settings),
            count: 0,
            state: State::Open,
            now: Time::ZERO,
            acknowledged: 0,
            sent: 0,
            srtt: 0,
            last_sent: Time::ZERO,
            recover: 0,
        }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        (self.window.cwnd / self.window.mss).max(1)
    }

    pub(crate) fn set_cwnd(&mut self, segments: u64) {
        self.window.cwnd = segments * self.window.mss;
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        self.window.ssthresh / self.window.mss
    }

    pub(crate) fn set_ssthresh(&mut self, segments: u64) {
        self.window.ssthresh = segments.saturating_mul(self.window.mss);
    }

    /// Sender maximum segment size in bytes (`mss_cache`).
    pub(crate) fn mss(&self) -> u64 {
        self.window.mss
    }

    /// cwnd and ssthresh in bytes, for a slow start of `parts/slow_start`.
    pub(crate) fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    /// The clock in ticks.
    pub(crate) fn jiffies(&self) -> u64 {
        jiffies(self.now)
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }

    /// Grows cwnd up to ssthresh; returns the segments that were beyond (`tcp_slow_start`).
    pub(crate) fn slow_start(&mut self, acked: u64) -> u64 {
        let cwnd = (self.cwnd() + acked).min(self.ssthresh());
        let rest = acked - (cwnd - self.cwnd());
        self.set_cwnd(cwnd);
        rest
    }

    /// One segment more for each `per` segments acknowledged (`tcp_cong_avoid_ai`).
    pub(crate) fn add_one_per(&mut self, per: u64, acked: u64) {
        let mut cwnd = self.cwnd();
        // Counted while more were necessary: one segment at most.
        if self.count >= per {
            self.count = 0;
            cwnd += 1;
        }
        self.count += acked;
        if self.count >= per {
            cwnd += self.count / per;
            self.count %= per;
        }
        self.set_cwnd(cwnd);
    }

    /// Growth of Reno (`tcp_reno_cong_avoid`).
    pub(crate) fn grow_as_reno(&mut self, growth: Growth) {
        if !growth.limited {
            return;
        }
        let Some(acked) = self.start_slowly(growth.acked) else { return };
        self.add_one_per(self.cwnd(), acked);
    }

    /// Slow start, if it has not ended; the segments that count for avoidance, if any are left.
    pub(crate) fn start_slowly(&mut self, acked: u64) -> Option<u64> {
        if !self.in_slow_start() {
            return Some(acked);
        }
        Some(self.slow_start(acked)).filter(|rest| *rest > 0)
    }

    /// ssthresh after a loss for Reno (`tcp_reno_ssthresh`).
    pub(crate) fn half(&self) -> u64 {
        (self.cwnd() / 2).max(2)
    }
}

/// An ACK that may let the window grow (`cong_avoid`).
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Segments newly acknowledged.
    pub(crate) acked: u64,
    /// cwnd limited the sender (`tcp_is_cwnd_limited`).
    pub(crate) limited: bool,
}

/// What an ACK measures (`ack_sample`).
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

    /// The controller is reducing the window by itself, so that a mark changes nothing (the kernel's state
    /// `CWR`).
    fn is_reducing(&self) -> bool {
        false
    }

    /// The connection is set up, and the handshake has measured a round-trip time (`init`); called for
    /// those that need round-trip times or feedback.
    fn init(&mut self, _socket: &mut Socket) {}

    /// ssthresh in segments after a loss, a mark or a timeout (`ssthresh`): that of Reno.
    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        socket.half()
    }

    /// May let the window grow (`cong_avoid`).
    fn grow(&mut self, socket: &mut Socket, growth: Growth);

    /// What an ACK measures (`pkts_acked`).
    fn on_sample(&mut self, _socket: &mut Socket, _sample: Sample, _feedback: &Feedback) {}

    /// Any ACK arrived (`in_ack_event`). It comes after [`on_sample`](Self::on_sample) as of Linux 6.15 and
    /// the stable releases of that time, Debian's 6.1 among them; before, it came first.
    fn on_any_ack(&mut self, _socket: &Socket, _feedback: &Feedback) {}

    /// A loss was found, `ssthresh` has answered it or the mark before it, and cwnd is to be reduced
    /// (`set_state` with `TCP_CA_Recovery`).
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

/// A controller of Linux behind the interface of this crate.
#[derive(Clone, Debug)]
pub struct LinuxController<O> {
    socket: Socket,
    operations: O,
    connected: bool,
}

impl<O: Operations> LinuxController<O> {
    #[cfg(test)]
    pub(crate) fn operations(&self) -> &O {
        &self.operations
    }

    #[cfg(test)]
    pub(crate) fn operations_mut(&mut self) -> &mut O {
        &mut self.operations
    }

    fn enter(&mut self, state: State) {
        self.socket.state = state;
        self.operations.on_state(&self.socket);
    }

    /// `tcp_init_cwnd_reduction`.
    fn reduce(&mut self, now: Time) {
        self.socket.now = now;
        self.socket.count = 0;
        let ssthresh = self.operations.ssthresh(&self.socket);
        self.socket.set_ssthresh(ssthresh);
    }
}

impl<O: Operations> Listed for LinuxController<O> {
    const LISTED: &'static [Entry] = O::LISTED;

    fn build(settings: &Settings, values: &Values) -> Self {
        let operations = O::configured(values);
        Self { socket: Socket::new(settings), operations, connected: false }
    }
}

impl<O: Operations> Controller for LinuxController<O> {
    fn window(&self) -> &Window {
        &self.socket.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.socket.window
    }

    fn needs(&self) -> Needs {
        O::NEEDS
    }

    fn on_rtt(&mut self, now: Time, sample: Span) {
        if !self.connected {
            self.connected = true;
            self.socket.now = now;
            self.socket.srtt = sample.as_nanos() / 1000;
            self.operations.init(&mut self.socket);
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.socket.now = sent.now;
        if sent.pipe_before == 0 {
            let pause = jiffies(sent.now) - jiffies(self.socket.last_sent);
            self.operations.on_start(&self.socket, pause);
        }
        self.socket.last_sent = sent.now;
        self.socket.sent = sent.sent;
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let socket = &mut self.socket;
        socket.now = feedback.now;
        socket.acknowledged = feedback.acknowledged;
        socket.sent = feedback.sent;
        socket.srtt = feedback.srtt.map_or(socket.srtt, |srtt| srtt.as_nanos() / 1000);
        let rtt = feedback.round_trip.map(|rtt| rtt.as_nanos() / 1000);
        let sample = Sample { acked: feedback.acked.div_ceil(socket.mss()), rtt };
        self.operations.on_sample(socket, sample, feedback);
        self.operations.on_any_ack(socket, feedback);
        let whole = feedback.pipe >= feedback.sent - feedback.acknowledged;
        match self.socket.state {
            State::Open if !whole => self.enter(State::Disorder),
            State::Disorder if whole => self.enter(State::Open),
            State::Loss if feedback.acknowledged >= self.socket.recover => self.enter(State::Open),
            State::Open | State::Disorder | State::Recovery | State::Loss => {}
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let socket = &mut self.socket;
        socket.now = ack.now;
        socket.srtt = ack.srtt.map_or(socket.srtt, |srtt| srtt.as_nanos() / 1000);
        let acked = ack.acked.div_ceil(socket.mss());
        self.operations.grow(socket, Growth { acked, limited: ack.cwnd_limited });
    }

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.operations.clone().ssthresh(&self.socket) * self.socket.mss()
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss.now);
        self.operations.on_recovery(&mut self.socket);
        self.socket.window.cwnd = self.socket.window.ssthresh;
        self.enter(State::Recovery);
    }

    /// The kernel has no bound here: what its controller takes for the window is the window.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        if self.operations.is_reducing() {
            return;
        }
        self.reduce(loss.now);
        self.enter(State::Recovery);
        self.on_recovery_exit(loss.now);
    }

    /// `tcp_enter_recovery`, from `TCP_CA_CWR`.
    fn on_loss_after_mark(&mut self, _loss: &Loss) {
        let before = self.socket.window.ssthresh;
        self.operations.on_recovery(&mut self.socket);
        let window = &mut self.socket.window;
        if window.ssthresh != before {
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
        self.enter(State::Recovery);
    }

    fn on_recovery_exit(&mut self, now: Time) {
        self.socket.now = now;
        standard::on_recovery_exit(self);
        self.operations.on_reduced(&mut self.socket);
        self.enter(State::Open);
    }

    /// `tcp_enter_loss`.
    fn on_timeout(&mut self, loss: &Loss) {
        self.socket.now = loss.now;
        if !loss.repeated {
            self.reduce(loss.now);
            self.operations.on_timeout(&mut self.socket);
        }
        self.socket.count = 0;
        self.socket.recover = self.socket.sent;
        self.socket.set_cwnd(1);
        self.enter(State::Loss);
    }

    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        standard::on_spurious_loss(self, cwnd, ssthresh);
        self.operations.on_undo();
        if self.socket.state == State::Loss {
            self.enter(State::Open);
        }
    }

    fn on_idle(&mut self) {
        self.operations.on_restart(&self.socket);
        standard::on_idle(self);
    }
}

impl<O: Operations> TcpPolicy for LinuxController<O> {}

/// A sender for tests of these controllers.
#[cfg(test)]
pub(crate) mod samples {
    use units::{Span, Time};

    use crate::controller::Controller;
    use crate::entry::Listed;
    use crate::events::{Ack, Feedback, RateSample};
    use crate::parameters::Values;
    use crate::parts::linux::Socket;
    use crate::window::Settings;

    pub(crate) const MSS: u64 = 1000;

    /// A connection with a window of `segments`.
    pub(crate) fn socket(segments: u64) -> Socket {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: segments * MSS,
            initial_ssthresh: 2 * MSS,
            byte_counting: 1,
        };
        Socket::new(&settings)
    }

    /// It always has data. Round trips are as long as a test says.
    pub(crate) struct Sender<C> {
        pub(crate) controller: C,
        pub(crate) now: Time,
        /// By how many milliseconds the receiver's clock is ahead.
        pub(crate) clock_offset: u32,
        acknowledged: u64,
        sent: u64,
    }

    impl<C: Controller + Listed> Sender<C> {
        /// In slow start with a window of so many segments. The handshake has taken 100 ms.
        pub(crate) fn new(segments: u64) -> Self {
            Self::with(segments, u64::MAX)
        }

        /// In congestion avoidance with a window of so many segments.
        pub(crate) fn avoiding(segments: u64) -> Self {
            Self::with(segments, 2 * MSS)
        }

        fn with(segments: u64, initial_ssthresh: u64) -> Self {
            let settings = Settings {
                mss: MSS as u32,
                initial_window: segments * MSS,
                initial_ssthresh,
                byte_counting: 1,
            };
            let values = Values::defaults(C::LISTED[0].parameters);
            let mut controller = C::build(&settings, &values);
            let rtt = Span::from_millis(100);
            controller.on_rtt(Time::ZERO + rtt, rtt);
            let (now, sent) = (Time::ZERO + rtt, segments * MSS);
            Self { controller, now, clock_offset: 0, acknowledged: 0, sent }
        }

        /// cwnd in segments.
        pub(crate) fn cwnd(&self) -> u64 {
            self.controller.window().cwnd / MSS
        }

        /// Round trips of `rtt` milliseconds; the segments by which cwnd has grown.
        pub(crate) fn grown_in(&mut self, rounds: u64, rtt: u64) -> u64 {
            let before = self.cwnd();
            for _ in 0..rounds {
                self.round(rtt);
            }
            self.cwnd().saturating_sub(before)
        }

        /// Ten round trips of 100 ms, without a queue, add a segment each: the last one may come later.
        pub(crate) fn assert_grows_as_reno(&mut self) {
            let grown = self.grown_in(10, 100);
            assert!((9..=10).contains(&grown), "{grown}");
        }

        /// All that is in flight is acknowledged after `rtt` milliseconds, one segment at a time.
        pub(crate) fn round(&mut self, rtt: u64) {
            self.round_of(rtt, 1);
        }

        /// The same with ACKs for `each` segments.
        pub(crate) fn round_of(&mut self, rtt: u64, each: u64) {
            let rtt = Span::from_millis(rtt);
            let (end, in_flight) = (self.sent, self.sent - self.acknowledged);
            while self.acknowledged < end {
                let acked = (each * MSS).min(end - self.acknowledged);
                self.now += Span::from_nanos(rtt.as_nanos() * acked / in_flight.max(1));
                self.acknowledged += acked;
                self.report(acked, rtt, in_flight);
                self.sent = self.sent.max(self.acknowledged + self.cwnd() * MSS);
            }
        }

        /// An ACK; `delivered` bytes have arrived in the round trip that it measures.
        fn report(&mut self, acked: u64, rtt: Span, delivered: u64) {
            // An ACK takes 50 ms back to the sender.
            let answered = self.now.since(Time::ZERO + Span::from_millis(50));
            let clock = (answered.as_nanos() / 1_000_000) as u32 + self.clock_offset;
            self.controller.on_rtt(self.now, rtt);
            self.controller.on_feedback(&Feedback {
                now: self.now,
                acked,
                sacked: 0,
                duplicate: false,
                recovering: false,
                round_trip: Some(rtt),
                srtt: Some(rtt),
                min_rtt: Some(rtt),
                acknowledged: self.acknowledged,
                sent: self.sent,
                pipe: self.sent - self.acknowledged,
                advertised: u64::MAX,
                peer_clock: Some(clock),
                marked: false,
                marked_bytes: 0,
                needless: 0,
                head_sent: None,
                rate: Some(RateSample {
                    rate: None,
                    delivered: self.acknowledged,
                    prior_delivered: self.acknowledged.saturating_sub(delivered),
                    lost: 0,
                    in_flight_when_sent: delivered,
                    app_limited: false,
                }),
            });
            self.controller.on_ack(&Ack {
                now: self.now,
                acked,
                flight: self.sent - self.acknowledged,
                advertised: u64::MAX,
                srtt: Some(rtt),
                min_rtt: Some(rtt),
                cwnd_limited: true,
            });
        }
    }
}
