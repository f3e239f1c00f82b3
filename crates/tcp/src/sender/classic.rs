//! Loss recovery of the RFCs: from the detection of a loss to its repair.
//!
//! Reno leaves fast recovery with the first new ACK (RFC 5681 section 3.2), NewReno when all that
//! was outstanding is acknowledged (RFC 6582), SACK likewise with a scoreboard (RFC 6675). A
//! timeout ends all of them and retransmits everything, as ACKs allow.

use congestion::{Controller, PartialAck, RecoveryStyle, TcpPolicy};
use transport::Range;
use units::Time;

use crate::config::{Config, Recovery};

use super::acknowledge::Acknowledgement;
use super::core::Core;
use super::episode::Phase;
use super::recovery::LossRecovery;
use super::transmit::Chunk;
use super::{acknowledge, path_mtu, reduction, transmit};

/// The RFC whose rules count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    Sack,
}

/// Recovery by duplicate ACKs or by SACK.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    rules: Rules,
    /// A rescue retransmission was made in this recovery (RFC 6675 `NextSeg` rule 4).
    has_rescued: bool,
}

impl Classic {
    /// `recovery`, or NewReno if that is none of the RFCs.
    pub(super) fn new(recovery: Recovery) -> Self {
        let rules = match recovery {
            Recovery::Reno => Rules::Reno,
            Recovery::NewReno | Recovery::Linux | Recovery::Snack => Rules::NewReno,
            Recovery::Sack => Rules::Sack,
        };
        Self { rules, has_rescued: false }
    }

    fn loss_is_certain(&self, core: &Core, config: &Config) -> bool {
        core.episode.duplicates >= core.controller.duplicate_threshold(config.dupthresh)
            || (self.uses_sack() && core.scoreboard.head_is_lost(core.stream.una))
    }

    /// After a recovery or a timeout, duplicate ACKs for what had been sent before it say nothing
    /// about a new loss (RFC 6582 section 3.2 step 2, RFC 6675 section 5.1). Reno knows this only
    /// after a timeout, and so takes each loss of a window for a new one.
    fn may_enter_recovery(&self, core: &Core) -> bool {
        let (episode, una) = (&core.episode, core.stream.una);
        match self.rules {
            Rules::Reno => episode.phase == Phase::Open,
            Rules::NewReno => una > episode.recover,
            Rules::Sack => episode.phase == Phase::Open && una >= episode.recover,
        }
    }
}

impl LossRecovery for Classic {
    const FOLLOWS_ACKS: bool = false;
    const GUESSES: bool = true;

    #[inline]
    fn uses_sack(&self) -> bool {
        self.rules == Rules::Sack
    }

    /// With SACK an ACK that brings news for the scoreboard, whatever else it carries (RFC 6675
    /// section 2); otherwise one that brings nothing at all (RFC 5681 section 2).
    #[inline(always)]
    fn is_duplicate(&self, ack: &Acknowledgement, window_moved: bool, sacks: bool) -> bool {
        if self.uses_sack() { sacks } else { !ack.carries_data && !window_moved }
    }

    fn on_duplicate(&mut self, core: &mut Core, now: Time, config: &Config) {
        match core.episode.phase {
            Phase::Open | Phase::Timeout => {
                core.episode.duplicates += 1;
                if self.loss_is_certain(core, config) && self.may_enter_recovery(core) {
                    reduction::enter_fast_recovery(core, self, now, config);
                }
            }
            Phase::FastRecovery => {
                reduction::doubt_notice(core, self, now, config);
                if !self.uses_sack() {
                    // Each duplicate ACK shows that a segment has left the network (RFC 5681
                    // section 3.2 step 4).
                    core.controller.window_mut().cwnd += core.stream.mss;
                }
            }
        }
    }

    fn on_fast_recovery(&mut self, core: &mut Core, config: &Config) {
        core.episode.resend_head = true;
        self.has_rescued = false;
        if !self.uses_sack() {
            // The segments behind the duplicate ACKs have left the network (RFC 5681 section 3.2
            // step 3).
            let threshold = core.controller.duplicate_threshold(config.dupthresh);
            let left = u64::from(core.episode.duplicates.min(threshold));
            core.controller.window_mut().cwnd += left * core.stream.mss;
        }
    }

    fn on_new_data_in_fast_recovery(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        acked: u64,
    ) -> bool {
        if core.stream.una >= core.episode.recover || self.rules == Rules::Reno {
            core.leave_fast_recovery(now, config, self.uses_sack());
            return true;
        }
        let style = if self.uses_sack() {
            RecoveryStyle::Pipe
        } else {
            core.episode.resend_head = true;
            RecoveryStyle::Inflation
        };
        core.controller.on_partial_ack(&PartialAck { acked, style });
        // Without SACK only the first partial ACK restarts the timer, so that a window with many
        // losses ends in a timeout and not in one RTT per loss (RFC 6582 section 3.2 step 3; the
        // "Impatient" variant of RFC 3782 section 4).
        let first = std::mem::replace(&mut core.episode.first_partial_ack, false);
        first || style == RecoveryStyle::Pipe
    }

    fn on_blocks(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        acknowledged: u64,
        blocks: impl Iterator<Item = Range>,
    ) -> u64 {
        let mut news = 0;
        for block in blocks {
            news += acknowledge::take_block(core, self, now, acknowledged, block);
        }
        if news > 0 {
            let threshold = core.controller.duplicate_threshold(config.dupthresh);
            let before = core.scoreboard.lost_below().max(acknowledged);
            core.scoreboard.find_losses(threshold, core.stream.mss);
            core.note_losses(now, before, core.scoreboard.lost_below());
        }
        news
    }

    /// The controller may see a loss before the duplicate threshold does.
    fn finish_ack(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        _ack: &Acknowledgement,
        _window_moved: bool,
        saw_loss: bool,
    ) {
        let is_open = core.episode.phase == Phase::Open && core.stream.flight() > 0;
        if saw_loss && is_open && self.may_enter_recovery(core) {
            reduction::enter_fast_recovery(core, self, now, config);
        }
    }

    /// The first unacknowledged segment: fast retransmit, or a partial ACK without SACK.
    fn next_head(&mut self, core: &mut Core, now: Time) -> Option<Chunk> {
        if let Some(probe) = path_mtu::next_mtu_probe(core, self, now) {
            return Some(probe);
        }
        let (una, max, mss) = (core.stream.una, core.stream.max, core.stream.mss);
        let hole = core.scoreboard.next_unacknowledged(una, mss);
        let range = hole.unwrap_or(Range { start: una, end: max.min(una + mss) });
        (range.start < range.end && core.episode.quota > 0)
            .then(|| transmit::send_again(core, self, now, range))
    }

    fn next_lost(&self, core: &Core) -> Option<Range> {
        let inflates = core.episode.phase == Phase::FastRecovery && !self.uses_sack();
        if inflates {
            return None;
        }
        core.scoreboard.next_lost(core.stream.una, core.stream.mss)
    }

    /// With SACK, data that may be lost (`NextSeg` rule 3), or once per recovery the last of the
    /// window (rule 4), which keeps the ACKs coming.
    fn next_guess(&mut self, core: &mut Core, now: Time) -> Option<Chunk> {
        if core.episode.quota == 0 || !core.pipe_has_room() {
            return None;
        }
        let (una, max, mss) = (core.stream.una, core.stream.max, core.stream.mss);
        if let Some(range) = core.scoreboard.next_unacknowledged(una, mss) {
            return Some(transmit::send_again(core, self, now, range));
        }
        if self.has_rescued {
            return None;
        }
        // A rescue jumps ahead; HighRxt stays where it is (RFC 6675 section 4). So it is not in the
        // pipe, and rule 1 sends the same segment again if it is found to be lost. Nothing has to
        // say that it is lost now: the rule has no condition but those of the recovery.
        let range = core.scoreboard.last_unacknowledged(una, max, mss)?;
        self.has_rescued = true;
        Some(transmit::repeat(core, self, now, range))
    }

    #[inline(always)]
    fn room(&self, core: &Core, config: &Config) -> u64 {
        let cwnd = core.controller.window().cwnd;
        match core.episode.phase {
            Phase::Open if !config.limited_transmit => {
                cwnd.saturating_sub(core.stream.flight() - core.scoreboard.early())
            }
            // One new segment for each of the first duplicate ACKs (RFC 3042). With SACK the
            // segments behind the duplicate ACKs have already left the pipe.
            Phase::Open if !self.uses_sack() => {
                let threshold = core.controller.duplicate_threshold(config.dupthresh);
                let duplicates = core.episode.duplicates.min(threshold - 1);
                (cwnd + u64::from(duplicates) * core.stream.mss)
                    .saturating_sub(core.stream.flight())
            }
            Phase::FastRecovery if !self.uses_sack() => cwnd.saturating_sub(core.stream.flight()),
            _ => cwnd.saturating_sub(core.pipe()),
        }
    }
}
