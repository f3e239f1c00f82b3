//! Packets that Linux hands down in one piece and that its segmentation offload cuts into segments,
//! for `delayed_ack = "linux"` and `recovery = "linux"`.
//!
//! With `recovery = "linux"` a packet that is not full waits for the next ACK, if one is about to
//! come (`tcp_tso_should_defer`). A window that has just grown by a segment therefore lets two
//! segments go and one wait, where other senders send three at once. Between flows that share a
//! full queue, this decides which of them meets the last free place.
//!
//! The last segment of such a packet has PSH (`__tcp_transmit_skb`), and a receiver whose
//! application reads everything acknowledges it at once (`receiver::quick`). So a flight of odd
//! length gets one ACK more than one for each two segments, which lets a window that grows with
//! each ACK grow faster. A packet of one segment has no PSH.
//!
//! A packet holds what about a millisecond at the pacing rate carries, whether the sender is paced
//! or not, at least two segments, and more where the RTT is below 16 ms (`tcp_tso_autosize`). The
//! controller may send single segments (`min_tso_segs`): BBR does below 1.2 Mbit/s.
//!
//! The full segments of a packet leave in a row: the windows, the use of cwnd, the timer and pacing
//! are looked at once for all of them (`next_in_row`).
//!
//! With `pacing = "linux"` the segments of a packet leave at once, and packets are kept apart
//! (`tcp_update_skb_after_send`).

use congestion::Controller;
use transport::usual_rate;
use units::{Span, Time};

use crate::config::Config;
use crate::flight::Flight;

use super::core::Core;
use super::episode::Phase;
use super::features::Features;
use super::linux::Linux;
use super::recovery::{AnyRecovery, LossRecovery, with_recovery};
use super::transmit::Chunk;
use super::usage::HeldBy;
use super::{buffer, transmit};

/// `sk_pacing_shift`: packets of a 1024th of a second.
const PACKETS_PER_SECOND: f64 = 1024.0;
/// `sk_gso_max_size`.
const LARGEST_PACKET: u64 = 65_536;
/// `sysctl_tcp_tso_rtt_log`: for each 2^9 microseconds of RTT the largest packet is halved.
const HALVING_RTT: Span = Span::from_nanos(512_000);

/// A packet waits only if another one left so recently, and if an ACK comes so soon.
const SOON: Span = Span::from_millis(1);
/// `sysctl_tcp_tso_win_divisor`: a packet of a third of the window is large enough.
const WINDOW_DIVISOR: u64 = 3;

/// The packet that is being cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Departure time.
    at: Time,
    /// Number of its segments that have not left.
    left: u64,
    /// It has more than one.
    is_cut: bool,
    /// The next one waits to be larger.
    waits: bool,
    /// Number of its segments that have left.
    gone: u64,
    /// Set if its data was sent before.
    again: Option<Again>,
}

/// A packet that is sent again.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Again {
    /// End of its last segment.
    end: u64,
    /// Time of its first transmission.
    sent_at: Time,
}

impl Default for Packet {
    fn default() -> Self {
        Self { at: Time::ZERO, left: 0, is_cut: false, waits: false, gone: 0, again: None }
    }
}

impl Packet {
    /// Returns true if the next new segment begins another packet.
    fn is_over(&self, now: Time) -> bool {
        self.left == 0 || self.at != now || self.again.is_some()
    }

    /// A segment leaves, when there is room for `room` of them. A packet that it begins holds at
    /// most `most`. Returns whether it is the last of a packet that was cut.
    fn cut(&mut self, now: Time, room: u64, most: u64) -> bool {
        if self.is_over(now) {
            let left = room.min(most);
            *self = Self { at: now, left, is_cut: left > 1, ..Self::default() };
        }
        self.left = self.left.saturating_sub(1);
        self.gone += 1;
        self.left == 0 && self.is_cut
    }

    /// A segment leaves again, which `goes_on` a packet or begins one of at most `most` segments.
    fn cut_again(&mut self, now: Time, again: Again, goes_on: bool, most: impl FnOnce() -> u64) {
        if !goes_on {
            *self = Self { at: now, left: most(), ..Self::default() };
        }
        self.again = Some(again);
        self.left = self.left.saturating_sub(1);
        self.gone += 1;
    }

    /// Returns true if the segment that has been cut last is not the first of its packet.
    pub(super) fn continues(&self, now: Time) -> bool {
        self.at == now && self.gone > 1
    }
}

/// An ACK has come, pacing releases a packet, or the application writes or closes. The kernel looks
/// at a packet that waits then, and not because time has passed (`tcp_write_xmit`).
pub(super) fn look_again(packet: &mut Option<Packet>) {
    if let Some(packet) = packet {
        packet.waits = false;
    }
}

/// The next piece to be sent with a send buffer that tunes itself. Once nothing is left to be sent,
/// or no window lets it, the application writes on until it sleeps or something may leave. After
/// the last segment it writes at once, because a sender that has nothing is not requested again.
#[inline(never)]
pub(super) fn next_chunk(
    core: &mut Core,
    recovery: &mut AnyRecovery,
    now: Time,
    config: &Config,
    in_a_row: bool,
) -> Option<Chunk> {
    loop {
        let chunk = if core.is_held_back(now) {
            None
        } else {
            with_recovery!(recovery, recovery => {
                transmit::next_chunk_apart(core, recovery, now, config, in_a_row)
            })
        };
        let wrote = (chunk.is_none() || core.stream.unsent() == 0) && buffer::write_on(core);
        if chunk.is_some() || !wrote {
            return chunk;
        }
    }
}

/// The next of the full segments in a row that are one packet, behind its first: the
/// windows and the timer are looked at once for a packet, as in Linux. `None` if the controller has
/// changed the window with the last segment, so that this one does not fit.
#[inline(never)]
pub(super) fn next_in_row(
    core: &mut Core,
    linux: &mut Linux,
    now: Time,
    config: &Config,
) -> Option<Chunk> {
    let mss = core.stream.mss;
    let follows = core.follows_segments();
    if follows && linux.unused(core, config) < mss {
        transmit::stop_row(core);
        core.end_paced_row(now);
        linux.end_row(core, now, core.stream.max, false);
        return None;
    }
    let range = transmit::next_new_range(core, mss);
    core.episode.count_limited(mss);
    let ends = core.packet.as_mut().is_some_and(|packet| packet.cut(now, 0, 0));
    if follows {
        core.follow_segment(now, range, false);
    }
    linux.on_sent(core, now, range, false);
    let chunk = transmit::count_new(core, now, mss, range);
    let write_ends = config.send_tuning.is_some() && core.stream.max == core.stream.buffered;
    if write_ends {
        buffer::write_on(core);
    }
    Some(Chunk { push: chunk.push | ends | write_ends, ..chunk })
}

impl Core {
    /// The first segment of a packet leaves, with `length` bytes, and `room` bytes more may leave.
    /// The full segments of the packet leave in a row, if nothing holds back single ones.
    #[inline]
    pub(super) fn begin_row(&mut self, length: u64, room: u64) {
        let lets_go = |features: &Features| features.lets_packets_go();
        if let Some(packet) = &self.packet
            && packet.left > 0
            && self.episode.phase == Phase::Open
            && !self.is_bounded
            && self.features.as_deref().is_none_or(lets_go)
        {
            self.burst.end = self.stream.max + length + room.min(packet.left * self.stream.mss);
        }
    }

    /// A new segment leaves where `room` bytes may. Returns whether it ends a packet.
    #[inline]
    pub(super) fn ends_packet(&mut self, now: Time, room: u64) -> bool {
        let Some(packet) = &self.packet else { return false };
        let room = room.div_ceil(self.stream.mss);
        // No packet holds less than the least.
        let most = if !packet.is_over(now) {
            0
        } else if room <= self.controller.least_packet() {
            room
        } else {
            self.segments_of_packet()
        };
        self.packet.as_mut().is_some_and(|packet| packet.cut(now, room, most))
    }

    /// The next lost segment leaves again. Segments of one packet that were lost together are one
    /// packet again (`tcp_retransmit_skb`): SACK blocks split it, and pacing keeps packets apart in
    /// time.
    #[cold]
    pub(super) fn cut_again(&mut self, now: Time) {
        let Some(mut packet) = self.packet else { return };
        let missing = self.scoreboard.flight().and_then(Flight::next_missing_segment);
        let Some(again) = missing.map(|s| Again { end: s.end, sent_at: s.sent_at }) else {
            packet.left = 0;
            packet.gone = 0;
            self.packet = Some(packet);
            return;
        };
        let goes_on = packet.again.is_some() && self.packet_goes_on(now);
        packet.cut_again(now, again, goes_on, || self.segments_of_packet());
        self.packet = Some(packet);
    }

    /// Returns true if the next segment belongs to the packet that is leaving.
    #[inline]
    pub(super) fn packet_goes_on(&self, now: Time) -> bool {
        let Some(packet) = &self.packet else { return false };
        if packet.left == 0 || packet.at != now {
            return false;
        }
        packet.again.is_none_or(|again| self.goes_on_again(again))
    }

    /// Returns true if the next segment to retransmit follows `again` in one packet.
    #[cold]
    fn goes_on_again(&self, again: Again) -> bool {
        let missing = self.scoreboard.flight().and_then(Flight::next_missing_segment);
        missing.is_some_and(|next| next.start == again.end && next.sent_at == again.sent_at)
    }

    /// Returns true if a new segment goes on a packet, which ends at the edge of the receive
    /// window. Its last segment need not be full then (`tcp_mss_split_point`), while a packet of
    /// its own waits for a wider window (`tcp_snd_wnd_test`). A packet has at most half of the
    /// largest window (`tcp_xmit_size_goal`).
    #[cold]
    pub(super) fn fills_packet(&self, now: Time) -> bool {
        let goes_on = |packet: &Packet| packet.again.is_none() && packet.gone > 0;
        self.is_linux
            && self.peer.max_advertised / 2 >= 2 * self.stream.mss
            && self.packet.as_ref().is_some_and(goes_on)
            && self.packet_goes_on(now)
    }

    /// Returns true if the next packet waits for the next ACK to be larger. `by_receiver` and
    /// `by_congestion` are the bytes that both windows let go, `available` those that are to be
    /// sent.
    #[inline]
    pub(super) fn defers(
        &mut self,
        now: Time,
        available: u64,
        by_receiver: u64,
        by_congestion: u64,
    ) -> bool {
        let room = by_receiver.min(by_congestion);
        let is_begun = self.packet_goes_on(now);
        if is_begun || !self.is_linux || self.episode.phase != Phase::Open {
            return false;
        }
        if self.packet.as_ref().is_some_and(|packet| packet.waits) {
            return true;
        }
        let window = self.peer.advertised.min(self.controller.window().cwnd);
        if room < self.stream.mss
            || available <= self.stream.mss
            || now.since(self.timers.last_sent.max(self.paced_departure())) > SOON
            || room >= window / WINDOW_DIVISOR
            || !self.expects_ack(now)
            || self.is_packet(room)
        {
            return false;
        }
        // The last packet before the FIN cannot become larger.
        if room > available && self.stream.fin_queued {
            return false;
        }
        if let Some(packet) = &mut self.packet {
            packet.waits = true;
        }
        self.held_by = if room > available {
            HeldBy::Application
        } else if by_congestion < by_receiver {
            // It counts as full: the window goes on to grow.
            self.usage.note_full(self.stream.max);
            HeldBy::CongestionWindow
        } else {
            HeldBy::AdvertisedWindow
        };
        true
    }

    /// Returns true if the first unacknowledged segment was sent one RTT ago, or nearly.
    fn expects_ack(&self, now: Time) -> bool {
        let head = self.scoreboard.flight().and_then(Flight::head);
        let (Some(head), Some(srtt)) = (head, self.rtt.srtt()) else { return false };
        let soon = SOON.min(Span::from_nanos(srtt.as_nanos() / 2));
        head.sent_at + srtt <= now + soon
    }

    /// Returns true if `room` bytes are a packet of full size.
    fn is_packet(&self, room: u64) -> bool {
        let mss = self.stream.mss;
        room >= self.controller.least_packet() * mss && room >= self.segments_of_packet() * mss
    }

    pub(super) fn segments_of_packet(&self) -> u64 {
        let Some(srtt) = self.rtt.srtt().filter(|srtt| *srtt > Span::ZERO) else {
            return self.controller.least_packet();
        };
        let usual = || usual_rate(self.controller.window(), self.stream.flight(), srtt);
        let rate = self.controller.pacing_rate().unwrap_or_else(usual);
        segments_of_packet(rate, self.min_rtt(), self.stream.mss)
            .max(self.controller.least_packet())
    }
}

/// As many as leave in a millisecond at `rate` bytes per second, which may be none.
fn segments_of_packet(rate: f64, min_rtt: Option<Span>, mss: u64) -> u64 {
    let halvings = min_rtt.map_or(u64::MAX, |rtt| rtt.as_nanos() / HALVING_RTT.as_nanos());
    let of_short_path = if halvings < 32 { LARGEST_PACKET >> halvings } else { 0 };
    let of_rate = (rate / PACKETS_PER_SECOND).min(LARGEST_PACKET as f64);
    #[expect(clippy::cast_possible_truncation, reason = "at most the largest packet")]
    let bytes = of_rate as u64 + of_short_path;
    bytes.min(LARGEST_PACKET) / mss
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(packet: &mut Packet, at: u64, room: u64, most: u64) -> Vec<bool> {
        let now = Time::ZERO + Span::from_millis(at);
        (0..room).map(|sent| packet.cut(now, room - sent, most)).collect()
    }

    #[test]
    fn the_last_segment_of_a_packet_of_several_is_marked() {
        let mut packet = Packet::default();
        assert_eq!(ends(&mut packet, 1, 1, 2), [false], "a packet of one");
        assert_eq!(ends(&mut packet, 2, 3, 2), [false, true, false]);
        assert_eq!(ends(&mut packet, 3, 4, 2), [false, true, false, true]);
        assert_eq!(ends(&mut packet, 4, 5, 8), [false, false, false, false, true]);
    }

    #[test]
    fn what_is_left_of_a_packet_does_not_count_later() {
        let mut packet = Packet::default();
        assert!(!packet.cut(Time::ZERO + Span::from_millis(1), 8, 8));
        assert_eq!(ends(&mut packet, 2, 2, 8), [false, true]);
    }

    #[test]
    fn a_packet_is_a_millisecond_long_and_longer_on_short_paths() {
        let ms = |millis| Some(Span::from_millis(millis));
        assert_eq!(segments_of_packet(1.25e6, ms(540), 1448), 0);
        assert_eq!(segments_of_packet(12.5e6, ms(540), 1448), 8);
        assert_eq!(segments_of_packet(1e12, ms(540), 1448), 45);
        assert_eq!(segments_of_packet(1.25e6, ms(1), 1448), 23);
        assert_eq!(segments_of_packet(12.5e6, None, 1448), 8);
    }
}
