//! The recoveries of a sender, and the rules that each of them has.
//!
//! The recovery is chosen once per call of the connection: [`AnyRecovery`] has it, and the steps of
//! an ACK, of a departure and of a timeout are generic over [`LossRecovery`].

use congestion::Needs;
use transport::Range;
use units::{Span, Time};

use crate::config::{Config, Recovery};
use crate::scps::SnackRecovery;

use super::acknowledge::Acknowledgement;
use super::classic::Classic;
use super::core::Core;
use super::linux::Linux;
use super::measurement::AckedBytes;
use super::reduction;
use super::transmit::Chunk;

/// The recovery of a connection.
#[derive(Debug)]
pub(super) enum AnyRecovery {
    /// Reno, NewReno or SACK, by the RFCs.
    Classic(Classic),
    /// RACK-TLP and proportional rate reduction, as in Linux.
    Linux(Box<Linux>),
    /// SNACK of SCPS-TP.
    Snack(Box<SnackRecovery>),
}

impl AnyRecovery {
    pub(super) fn new(config: &Config, needs: Needs) -> Self {
        match (config.recovery, config.scps) {
            (Recovery::Linux, _) => Self::Linux(Box::new(Linux::new(needs, config))),
            (Recovery::Snack, Some(scps)) => {
                Self::Snack(Box::new(SnackRecovery::new(config, scps)))
            }
            (recovery, _) => Self::Classic(Classic::new(recovery)),
        }
    }
}

/// Evaluates an expression with the recovery of an [`AnyRecovery`].
macro_rules! with_recovery {
    ($any:expr, $recovery:ident => $body:expr) => {
        match $any {
            $crate::sender::recovery::AnyRecovery::Classic($recovery) => $body,
            $crate::sender::recovery::AnyRecovery::Linux(boxed) => {
                let $recovery = &mut **boxed;
                $body
            }
            $crate::sender::recovery::AnyRecovery::Snack(boxed) => {
                let $recovery = &mut **boxed;
                $body
            }
        }
    };
}
pub(super) use with_recovery;

/// Rules of one loss recovery. `core` has everything else of the sender. The defaults are those of
/// a recovery that has no such rule.
pub(crate) trait LossRecovery {
    /// [`finish_ack`](Self::finish_ack) has something to do for each ACK, and not only if the
    /// controller has seen a loss.
    const FOLLOWS_ACKS: bool = true;
    /// [`next_guess`](Self::next_guess) may have something to send.
    const GUESSES: bool = false;
    /// [`grow`](Self::grow) depends on whether cwnd was full. Otherwise the recovery has a rule of
    /// its own for the use of cwnd.
    const FOLLOWS_USE: bool = true;
    /// An ACK that was overtaken measures nothing.
    const SKIPS_OLD_ACKS: bool = false;

    /// Returns true if SACK blocks steer the retransmissions.
    fn uses_sack(&self) -> bool;

    /// Returns true if an ACK of nothing new is a duplicate. `sacks`: its SACK blocks report
    /// something new.
    fn is_duplicate(&self, ack: &Acknowledgement, window_moved: bool, sacks: bool) -> bool;

    /// A duplicate ACK.
    fn on_duplicate(&mut self, core: &mut Core, now: Time, config: &Config);

    /// A part of the data that was outstanding when the recovery began is acknowledged, or all of
    /// it: `acked` bytes. Returns true if the retransmission timer restarts.
    fn on_new_data_in_fast_recovery(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        acked: u64,
    ) -> bool;

    /// Takes in SACK blocks of an ACK up to `acknowledged`. Returns the bytes that they report for
    /// the first time.
    fn on_blocks(
        &mut self,
        _core: &mut Core,
        _now: Time,
        _config: &Config,
        _acknowledged: u64,
        _blocks: impl Iterator<Item = Range>,
    ) -> u64 {
        0
    }

    /// `block` is about to enter the scoreboard.
    fn on_block(&mut self, _core: &mut Core, _now: Time, _block: Range) {}

    /// Data that `ack` acknowledges is about to leave the scoreboard.
    fn on_acknowledged(&mut self, _core: &mut Core, _now: Time, _ack: &Acknowledgement) {}

    /// An ACK of nothing new that is no duplicate either.
    fn on_idle_ack(&mut self, _core: &mut Core) {}

    /// Takes a sample for the retransmission timer from an ACK of `acked` bytes. `timed`: the round
    /// trip of the segment that was timed.
    #[inline(always)]
    fn sample_rtt(
        &mut self,
        core: &mut Core,
        _now: Time,
        config: &Config,
        ack: &Acknowledgement,
        acked: u64,
        timed: Option<Span>,
    ) {
        core.sample_rtt(config, ack.round_trip, acked, timed);
    }

    /// The round trip of the youngest segment that an ACK delivers and that was sent once, if the
    /// recovery knows each segment.
    #[inline(always)]
    fn round_trip(&self, _now: Time) -> Option<Span> {
        None
    }

    /// Judges what is outstanding after an ACK of `acked` bytes, before the controller gets it.
    fn judge(
        &mut self,
        _core: &mut Core,
        _now: Time,
        _config: &Config,
        _ack: &Acknowledgement,
        _acked: u64,
    ) {
    }

    /// Data that an ACK acknowledges, as controllers count it.
    fn counted(&self, acked: AckedBytes) -> AckedBytes {
        acked
    }

    /// Lets the controller grow the window for an ACK of `acked` bytes outside of fast recovery.
    /// `full`: cwnd was full, if the recovery [follows its use](Self::FOLLOWS_USE).
    #[inline(always)]
    fn grow(
        &mut self,
        core: &mut Core,
        now: Time,
        _config: &Config,
        ack: &Acknowledgement,
        acked: u64,
        full: bool,
    ) {
        core.grow_if_used(now, ack, acked, full);
    }

    /// Last step of an ACK. `saw_loss`: the controller has seen a loss in it.
    fn finish_ack(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        window_moved: bool,
        saw_loss: bool,
    );

    /// The receiver echoes a mark. Returns true if the echo has an effect.
    fn begin_mark(&mut self, _core: &mut Core, _now: Time) -> bool {
        true
    }

    /// A mark has reduced cwnd from `before`.
    fn on_reduced_by_mark(&mut self, _core: &mut Core, _before: u64) {}

    /// A loss of the recovery that runs has reduced cwnd from `before`.
    fn on_reduced_by_loss(&mut self, _core: &Core, _before: u64) {}

    /// A fast recovery has begun.
    fn on_fast_recovery(&mut self, _core: &mut Core, _config: &Config) {}

    /// The retransmission timer expired, and the controller is about to get it. Returns true if it
    /// interrupts a recovery that has reduced ssthresh.
    fn prepare_for_timeout(&mut self, _core: &mut Core, _config: &Config) -> bool {
        false
    }

    /// Everything outstanding counts as lost.
    fn lose_everything(&mut self, core: &mut Core, now: Time) {
        core.note_losses(now, core.stream.una, core.stream.max);
        core.scoreboard.lose_everything(core.stream.una, core.stream.max);
    }

    /// Segments of `range` that are longer than the path takes count as lost.
    fn lose_too_large(&mut self, core: &mut Core, now: Time, range: Range) {
        core.note_losses(now, range.start, range.end);
        core.scoreboard.lose_everything(core.stream.una, range.end);
    }

    /// The timer has expired. Takes it if the recovery has started it for something else than a
    /// retransmission.
    fn on_timer(&mut self, _core: &mut Core, _now: Time, _config: &Config) {}

    /// The retransmission timer expired (RFC 5681 section 3.1, RFC 6298 rules 5.4 to 5.6).
    fn on_retransmission_timeout(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        heard: Time,
    ) where
        Self: Sized,
    {
        reduction::on_timeout(core, self, now, config, heard);
    }

    /// A segment leaves, new or again. Nothing counts it as sent yet.
    fn on_sent(&mut self, _core: &mut Core, _now: Time, _range: Range, _again: bool) {}

    /// The segment that goes before all others.
    fn next_head(&mut self, core: &mut Core, now: Time) -> Option<Chunk>;

    /// Lost data that was not retransmitted yet.
    fn next_lost(&self, core: &Core) -> Option<Range> {
        core.scoreboard.next_lost(core.stream.una, core.stream.mss)
    }

    /// Returns true for a retransmission that leaves whatever cwnd is.
    fn forces_repair(&mut self) -> bool {
        false
    }

    /// A retransmission in fast recovery, if there is neither lost nor new data to send.
    fn next_guess(&mut self, _core: &mut Core, _now: Time) -> Option<Chunk> {
        None
    }

    /// Bytes of new data that the congestion window lets into the network.
    fn room(&self, core: &Core, config: &Config) -> u64;

    /// Time since which the sender is idle, if cwnd may restart for that.
    fn idle_since(&mut self, core: &Core) -> Option<Time> {
        Some(core.timers.last_sent)
    }

    /// cwnd has restarted after `idle` time; it was `before`.
    fn on_restart(&mut self, core: &mut Core, now: Time, _idle: Span, _before: congestion::Window) {
        // Once, even if the receiver's window holds the data back.
        core.timers.last_sent = now;
    }

    /// The application has written, or the receive window has changed.
    fn look_at_idle_time(&mut self, _core: &mut Core) {}

    /// cwnd has changed.
    fn note_change_of_window(&mut self, _now: Time) {}
}
