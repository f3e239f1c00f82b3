//! What a congestion controller is told, what it may decide, and what it does by default.

use units::{Span, Time};

use crate::window::Window;

/// How TCP finds and repairs losses. It is no part of the controller, but each controller has one
/// that its paper was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit and fast recovery that ends with the first new ACK (RFC 5681 section 3.2).
    Reno,
    /// Fast recovery that lasts until everything sent before the loss is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgements steer the retransmissions (RFC 2018, RFC 6675).
    Sack,
}

impl Recovery {
    /// Every recovery with the name it has in scenarios.
    pub const ALL: [(&'static str, Self); 3] =
        [("reno", Self::Reno), ("newreno", Self::NewReno), ("sack", Self::Sack)];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, r)| *r == self).map_or("", |(name, _)| name)
    }
}

/// What a loss halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossThreshold {
    /// Everything sent and not acknowledged: FlightSize (RFC 5681 equation 4).
    FlightSize,
    /// What is thought to be in the network, without what is SACKed or lost: the rule of ns-3.
    Pipe,
}

/// How recovery keeps count of what is in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryStyle {
    /// cwnd is inflated by each duplicate ACK and deflated again (RFC 5681, RFC 6582).
    Inflation,
    /// cwnd stands still and the scoreboard counts the pipe (RFC 6675).
    Pipe,
}

/// An ACK for new data outside of loss recovery.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes that it acknowledges for the first time.
    pub acked: u64,
    /// Flight size in bytes after this ACK.
    pub flight: u64,
    /// The window that the receiver advertised, in bytes.
    pub advertised: u64,
    /// Smoothed round-trip time, if there has been a sample.
    pub srtt: Option<Span>,
    /// Smallest round-trip time of the connection, if there has been a sample.
    pub min_rtt: Option<Span>,
    /// Whether the congestion window was what held the sender back; growing a window that is not
    /// used says nothing about the path (RFC 7661).
    pub cwnd_limited: bool,
}

/// A loss that recovery found, or a retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was found.
    pub now: Time,
    /// Flight size in bytes when it was found.
    pub flight: u64,
    /// The retransmission of the same data timed out before: ssthresh stays as it is
    /// (RFC 5681 section 3.1).
    pub repeated: bool,
}

/// An ACK for new data during recovery that leaves some of the old data unacknowledged.
#[derive(Clone, Copy, Debug)]
pub struct PartialAck {
    /// Bytes that it acknowledges for the first time.
    pub acked: u64,
    /// How recovery counts what is in the network.
    pub style: RecoveryStyle,
}

/// The two moments at which the sender asks how much the receiver lets it send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// Once when an ACK has arrived: how much may be sent in all.
    Total,
    /// Before each new segment: how long it may be.
    Segment,
}

/// What the sender has outstanding when it asks.
#[derive(Clone, Copy, Debug)]
pub struct SendState {
    /// Flight size in bytes.
    pub flight: u64,
    /// Bytes from the first unacknowledged one to the end of the data that was outstanding when
    /// the last loss was found; zero when all of it is acknowledged.
    pub to_recover: u64,
}

/// A congestion controller. The defaults are standard TCP: RFC 5681 and RFC 6582.
pub trait Controller {
    /// cwnd and ssthresh.
    fn window(&self) -> &Window;

    /// cwnd and ssthresh, to change: recovery inflates and deflates cwnd (RFC 6582 section 3.2).
    fn window_mut(&mut self) -> &mut Window;

    /// A round-trip time was measured on a segment that was sent once (Karn's algorithm).
    fn on_rtt(&mut self, _now: Time, _sample: Span) {}

    /// New data was acknowledged outside of recovery.
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        if self.window().in_slow_start() {
            self.slow_start(ack);
        } else {
            self.avoid_congestion(ack);
        }
    }

    /// Growth below ssthresh: by the bytes acknowledged, at most one SMSS (RFC 5681 equation 2).
    fn slow_start(&mut self, ack: &Ack) {
        let window = self.window_mut();
        window.cwnd += window.counted(ack.acked);
    }

    /// Growth at and above ssthresh: SMSS * SMSS / cwnd for each ACK (RFC 5681 equation 3).
    fn avoid_congestion(&mut self, ack: &Ack) {
        let window = self.window_mut();
        window.grow_by_fraction(window.mss * window.counted(ack.acked).max(window.mss));
    }

    /// ssthresh after a loss, in bytes: half the flight size (RFC 5681 equation 4).
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        self.window().half(loss.flight)
    }

    /// Recovery found a loss and begins: cwnd falls to the new ssthresh.
    fn on_loss(&mut self, loss: &Loss) {
        let ssthresh = self.threshold_after_loss(loss);
        let window = self.window_mut();
        window.ssthresh = ssthresh;
        window.cwnd = ssthresh;
    }

    /// A partial ACK: deflate by what was acknowledged and add one SMSS back
    /// (RFC 6582 section 3.2 step 5). The pipe needs no deflating.
    fn on_partial_ack(&mut self, partial: &PartialAck) {
        if partial.style == RecoveryStyle::Inflation {
            let window = self.window_mut();
            let added = if partial.acked >= window.mss { window.mss } else { 0 };
            window.cwnd = (window.cwnd.saturating_sub(partial.acked) + added).max(window.mss);
        }
    }

    /// Recovery is over: cwnd = ssthresh (RFC 6582 section 3.2 step 3, second option).
    fn on_recovery_exit(&mut self, _now: Time) {
        let window = self.window_mut();
        window.cwnd = window.ssthresh;
    }

    /// The retransmission timer expired: one segment (RFC 5681 section 3.1).
    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.window_mut().ssthresh = self.threshold_after_loss(loss);
        }
        let window = self.window_mut();
        window.cwnd = window.mss;
    }

    /// Nothing was sent for longer than the RTO: at most the initial window
    /// (RFC 5681 section 4.1).
    fn on_idle(&mut self) {
        let window = self.window_mut();
        window.cwnd = window.cwnd.min(window.initial);
    }

    /// The window that the sender takes as advertised, in bytes, given the one it took so far.
    /// Each ACK puts it back to what the receiver said. Going beyond breaks flow control.
    fn advertised_window(&mut self, _sizing: Sizing, taken: u64, _state: &SendState) -> u64 {
        taken
    }

    /// Time added to each retransmission timeout.
    fn extra_rto(&self) -> Span {
        Span::ZERO
    }

    /// How many segments may be retransmitted in answer to one ACK or timeout.
    fn retransmission_quota(&self) -> u32 {
        u32::MAX
    }
}
