//! Parts of the sender that all recoveries share. A recovery gets them with each call.

use congestion::{AnyController, Controller, SendState, Sizing, TcpPolicy};
use transport::{Counters, Estimator, LimitClock, Pacing, Progress, RttEstimator};
use units::{Span, Time};
use wire::feedback::Response;

use crate::config::{AckTiming, Config, Recovery, SsthreshBasis};
use crate::scoreboard::Scoreboard;

use super::episode::{Episode, LastReduction, Phase};
use super::features::Features;
use super::limits::Reached;
use super::offload::Packet;
use super::peer::Peer;
use super::stream::Stream;
use super::timers::Timers;
use super::transmit::Burst;
use super::usage::{HeldBy, Usage};

/// The sending half but for its loss recovery. Sequence numbers are 64 bits; the SYN is 0 and the
/// first byte is 1.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) stream: Stream,
    pub(crate) peer: Peer,
    pub(crate) episode: Episode,
    pub(crate) held_by: HeldBy,
    pub(super) burst: Burst,
    /// The rules of Linux count where the RFCs leave a choice: Nagle, probes of a closed window,
    /// offload, what a loss halves.
    pub(crate) is_linux: bool,
    /// End of the segment whose round trip is timed, and its send time.
    pub(crate) timed: Option<(u64, Time)>,
    pub(crate) timers: Timers,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) controller: AnyController,
    /// Nothing looks at single segments: there are no features, and no packets of several segments
    /// are modelled.
    pub(super) is_plain: bool,
    /// Parts that only some connections need.
    pub(super) features: Option<Box<Features>>,
    /// The controller has its own window, timeout or number of retransmissions
    /// (`TcpPolicy::bounds_sender`).
    pub(super) is_bounded: bool,
    /// A probe of capacity may have to leave.
    pub(super) may_probe: bool,
    pub(crate) rtt: RttEstimator,
    pub(super) usage: Usage,
    pub(crate) reduction: LastReduction,
    /// The packet that segmentation offload cuts, where that is modelled.
    pub(super) packet: Option<Packet>,
    pub(crate) counters: Counters,
    /// Response of this end to the requests that routers have seen.
    pub(crate) response: Option<Response>,
    /// Time by what held the sender back.
    pub(super) limits: LimitClock,
    pub(super) reached: Reached,
    /// The connection is over.
    pub(super) is_stopped: bool,
}

impl Core {
    pub(crate) fn new(config: &Config, mut controller: AnyController) -> Self {
        let features = Features::needed(config, controller.needs());
        controller.window_mut().paced = features.as_ref().is_some_and(|one| one.needs.pacing);
        let is_linux = config.recovery == Recovery::Linux;
        let has_packets = is_linux
            || config.delayed_ack == AckTiming::Linux
            || config.pacing == Pacing::Linux
            || config.send_tuning.is_some();
        let is_plain = features.is_none() && !has_packets;
        Self {
            stream: Stream::new(config.mss.into()),
            peer: Peer::default(),
            episode: Episode::new(),
            held_by: HeldBy::Application,
            burst: Burst::default(),
            is_linux,
            timed: None,
            timers: Timers::new(),
            scoreboard: if is_linux {
                Scoreboard::by_segment(config.mss.into())
            } else {
                Scoreboard::default()
            },
            is_bounded: controller.bounds_sender(),
            controller,
            is_plain,
            may_probe: features.as_ref().is_some_and(|features| features.probes.is_some()),
            features,
            rtt: RttEstimator::new(&config.rto),
            usage: Usage::default(),
            reduction: LastReduction::default(),
            packet: has_packets.then(Packet::default),
            counters: Counters::default(),
            response: None,
            limits: LimitClock::default(),
            reached: Reached::default(),
            is_stopped: false,
        }
    }

    /// Flight size as windows count it. With `recovery = "linux"` each segment is a full one
    /// (`packets_out`).
    #[inline]
    pub(crate) fn counted_flight(&self) -> u64 {
        let flight = self.scoreboard.flight();
        flight.map_or_else(|| self.stream.flight(), |segments| segments.unacknowledged())
    }

    /// Bytes that are thought to be in the network.
    #[inline(always)]
    pub(crate) fn pipe(&self) -> u64 {
        self.scoreboard.pipe(self.stream.una, self.stream.max)
    }

    /// cwnd - pipe >= 1 SMSS (RFC 6675 section 5, step C).
    pub(crate) fn pipe_has_room(&self) -> bool {
        self.controller.window().cwnd >= self.pipe() + self.stream.mss
    }

    /// A full segment has `mss` bytes from now on.
    pub(crate) fn count_segments_of(&mut self, mss: u64) {
        self.stream.mss = mss;
        if let Some(flight) = self.scoreboard.flight_mut() {
            flight.set_mss(mss);
        }
    }

    pub(crate) fn send_state(&self) -> SendState {
        let Episode { phase, recover, .. } = self.episode;
        SendState {
            flight: self.stream.flight(),
            to_recover: match phase {
                Phase::Open => 0,
                Phase::FastRecovery | Phase::Timeout => recover.saturating_sub(self.stream.una),
            },
        }
    }

    /// Lets the controller scale `window`, which counts from SND.UNA.
    #[inline(always)]
    pub(crate) fn scale_window(&mut self, sizing: Sizing, window: u64) {
        self.peer.usable = if self.is_bounded {
            let state = self.send_state();
            self.controller.advertised_window(sizing, window, &state)
        } else {
            window
        };
    }

    /// The smallest round-trip time of data, as controllers see it.
    #[inline]
    pub(crate) fn min_rtt(&self) -> Option<Span> {
        let exact = self.features.as_ref().and_then(|features| features.measurement.min_rtt);
        exact.or_else(|| self.rtt.min())
    }

    /// ACKs of a round trip that ends with an ACK of `acked` bytes: one for every second segment of
    /// the flight (RFC 7323 appendix G). The estimator of Linux does not need their number.
    #[inline]
    pub(crate) fn acks_per_round(&self, config: &Config, acked: u64) -> u64 {
        match config.rto.estimator {
            Estimator::Rfc6298 => (self.stream.flight() + acked).div_ceil(2 * self.stream.mss),
            Estimator::Linux => 1,
        }
    }

    /// Position of a sample that is one of `per_round` in a round trip.
    #[inline]
    pub(crate) fn progress(&self, per_round: u64) -> Progress {
        Progress { per_round, acknowledged: self.stream.una, sent: self.stream.max }
    }

    /// Returns true if cwnd stands still or falls after a mark, as it does in Linux until something
    /// beyond what was outstanding is acknowledged (`TCP_CA_CWR`).
    pub(crate) fn is_reduced_by_mark(&self) -> bool {
        self.reduction.by_mark && self.is_linux && self.stream.una <= self.reduction.at
    }

    /// Returns true if a recovery goes on with what a mark has begun. In Linux this is so until
    /// something beyond what was outstanding is acknowledged (`tcp_enter_recovery`), while a
    /// timeout then reduces again (`tcp_enter_loss`).
    pub(crate) fn goes_on_with_mark(&self) -> bool {
        self.reduction.is_in_window_of_mark(self.stream.una) || self.is_reduced_by_mark()
    }

    /// Bytes that a loss halves.
    pub(crate) fn flight_to_reduce(&self, config: &Config) -> u64 {
        match config.ssthresh_basis {
            SsthreshBasis::FlightSize if self.is_linux => self.controller.window().cwnd,
            SsthreshBasis::FlightSize => self.stream.flight() - self.episode.limited,
            SsthreshBasis::Pipe => self.pipe(),
            SsthreshBasis::Cwnd => self.controller.window().cwnd,
        }
    }

    /// Takes the quota of retransmissions until the next ACK from the controller.
    #[inline(always)]
    pub(crate) fn renew_quota(&mut self) {
        self.episode.quota =
            if self.is_bounded { self.controller.retransmission_quota() } else { u32::MAX };
    }

    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Time) {
        self.timers.deadline = now + self.timeout();
        self.timers.persisting = false;
    }

    /// The RTO, and the time that the controller adds to it.
    #[inline]
    pub(crate) fn timeout(&self) -> Span {
        let extra = if self.is_bounded { self.controller.extra_rto() } else { Span::ZERO };
        self.rtt.rto() + extra
    }

    #[inline]
    pub(crate) fn start_timer_if_stopped(&mut self, now: Time) {
        if self.timers.deadline == Time::NEVER || self.timers.persisting {
            self.restart_timer(now);
        }
    }

    /// Starts the persist timer if nothing is outstanding and the receiver's window holds the data
    /// back: the window is probed until it opens (RFC 9293 section 3.8.6.1).
    #[inline]
    pub(crate) fn persist_if_stuck(&mut self, now: Time, config: &Config) {
        let stuck = self.held_by == HeldBy::AdvertisedWindow && self.stream.flight() == 0;
        if stuck && !self.timers.persisting {
            self.timers.begin_persisting();
            self.restart_persist_timer(now, config);
        }
    }

    /// An ACK has come while the persist timer runs. It ends if the window has opened by at least a
    /// segment, or something was acknowledged. Otherwise it restarts in Linux (`tcp_ack_probe`):
    /// the next probe counts from the answer to the last one.
    #[cold]
    pub(crate) fn review_persist(&mut self, now: Time, config: &Config) {
        if self.stream.flight() > 0 || self.peer.advertised >= self.stream.mss {
            self.timers.stop();
            self.timers.probing = false;
            self.episode.resend_head = false;
        } else if self.is_linux && !self.episode.resend_head {
            self.restart_persist_timer(now, config);
            if self.timers.backoff > 0 {
                self.timers.bound_by_user_timeout(now);
            }
        }
    }

    /// The persist timer expired: a probe of the closed window is due.
    pub(crate) fn on_persist_timeout(&mut self, now: Time, config: &Config, heard: Time) {
        if self.timers.probe_window(now, config, heard) {
            self.episode.resend_head = true;
            self.restart_persist_timer(now, config);
            self.timers.bound_by_user_timeout(now);
        }
    }

    fn restart_persist_timer(&mut self, now: Time, config: &Config) {
        // In Linux the interval doubles no more often than there are probes (`tcp_send_probe0`).
        let most = if self.is_linux { config.max_retries } else { u32::MAX };
        self.timers.deadline = now + self.timers.persist_interval(self.rtt.rto(), config, most);
    }
}
