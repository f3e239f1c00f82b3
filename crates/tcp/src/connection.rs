//! One end of a TCP connection (RFC 9293): set-up, data both ways, close.

mod acceptance;
mod endpoint;
mod handshake;
mod probes;
mod reset;

use std::sync::Arc;

use crate::config::Recovery;
use congestion::{AnyController, Controller};
use units::{Span, Time};

use reset::Reset;

use crate::config::Config;
use crate::info::Agreed;
use crate::receiver::{Path, QUICK_AFTER_MARK, Receiver};
use crate::segment::{Block, Flags, MAX_SACK_BLOCKS, Options, Segment};
use crate::sender::{Acknowledgement, Chunk, Phase, Sender};
use crate::sequence::Space;
use crate::timestamps::{round_trip, timestamp};
use transport::RttEstimator;
use transport::{Counters, Range};

/// How long TIME-WAIT lasts: twice the maximum segment lifetime of RFC 9293 section 3.4.2.
const TIME_WAIT: Span = Span::from_secs(240);

/// The MSS of an end that names none (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// Where a connection stands (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has happened yet, or all is over.
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has answered a SYN.
    SynReceived,
    /// Data may flow.
    Established,
    /// Has closed and waits for the acknowledgement of its FIN.
    FinWait1,
    /// Has closed and waits for the other FIN.
    FinWait2,
    /// The other end has closed.
    CloseWait,
    /// Both have closed at once.
    Closing,
    /// Has closed last and waits for the acknowledgement of its FIN.
    LastAck,
    /// Waits for stray segments to die out.
    TimeWait,
}

/// What is sent before everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgent {
    Nothing,
    /// A SYN, or a SYN with ACK.
    Syn,
    Reset(Reset),
}

/// One end of a connection. Segments and time go in through [`on_segment`](Self::on_segment) and
/// [`on_deadline`](Self::on_deadline); after each of them, and after every call of the
/// application, [`next_segment`](Self::next_segment) is called until it returns `None`, and then
/// [`next_of_low_priority`](Self::next_of_low_priority) likewise.
#[derive(Debug)]
pub struct Connection {
    state: State,
    /// What goes before everything else.
    urgent: Urgent,
    /// The other end has reset the connection, or this end has.
    was_reset: bool,
    /// Before this, what is out of order in a segment without data is not answered again.
    challenge_from: Time,
    /// SYNs sent so far.
    syns: u32,
    /// The other end has opened the connection.
    passive: bool,
    closing: bool,
    /// Options that this end offers, and after the set-up those that both have offered.
    scaling: bool,
    timestamps: bool,
    sack: bool,
    ecn: bool,
    dsack: bool,
    /// Data has met congestion on its way here; said with each ACK until the other end answers
    /// (RFC 3168 section 6.1.3).
    echo: bool,
    /// Probes of the other end that are still to be answered.
    unanswered_probes: u32,
    /// The other end sends probes.
    peer_probes: bool,
    /// Window scale of this end and of the other (RFC 7323 section 2.2).
    shift: u8,
    peer_shift: u8,
    /// Largest window that the window field can carry, in bytes.
    window_limit: u64,
    peer_mss: u16,
    /// TS.Recent: the timestamp to echo (RFC 7323 section 4.3).
    recent_timestamp: u32,
    last_ack_sent: u64,
    /// TIME-WAIT ends.
    quiet_until: Time,
    out: Space,
    inward: Space,
    config: Arc<Config>,
    sender: Sender,
    receiver: Receiver,
}

impl Connection {
    /// A closed connection whose first sequence number will be `initial_sequence`.
    pub fn new(config: Arc<Config>, controller: AnyController, initial_sequence: u32) -> Self {
        let unscaled = u64::from(u16::MAX);
        let needs = controller.needs();
        Self {
            state: State::Closed,
            urgent: Urgent::Nothing,
            was_reset: false,
            challenge_from: Time::ZERO,
            syns: 0,
            passive: false,
            closing: false,
            scaling: config.window_scaling,
            timestamps: config.timestamps,
            sack: matches!(config.recovery, Recovery::Sack | Recovery::Linux),
            ecn: config.ecn || needs.marks,
            dsack: config.dsack || needs.duplicate_reports || config.recovery == Recovery::Linux,
            echo: false,
            unanswered_probes: 0,
            peer_probes: false,
            shift: 0,
            peer_shift: 0,
            window_limit: unscaled,
            peer_mss: 0,
            recent_timestamp: 0,
            last_ack_sent: 0,
            quiet_until: Time::NEVER,
            out: Space::new(initial_sequence),
            inward: Space::new(0),
            sender: Sender::new(&config, controller),
            receiver: Receiver::new(&config, unscaled),
            config,
        }
    }

    /// Active open.
    pub fn connect(&mut self) {
        self.state = State::SynSent;
        self.urgent = Urgent::Syn;
    }

    /// Passive open.
    pub fn listen(&mut self) {
        self.state = State::Listen;
    }

    /// The application hands over `bytes` to be sent.
    pub fn write(&mut self, bytes: u64) {
        debug_assert!(!self.closing, "nothing can be written after close");
        self.sender.write(&self.config, bytes);
    }

    /// The application takes back what was never sent, even after [`close`](Self::close). Returns
    /// the length of what remains of its stream.
    pub fn withdraw(&mut self) -> u64 {
        self.sender.withdraw(&self.config)
    }

    /// The application reads `bytes`, at most [`unread`](Self::unread).
    pub fn read(&mut self, bytes: u64) {
        self.receiver.read(&self.config, bytes.min(self.receiver.unread()));
    }

    /// The application will write no more: a FIN follows the data. Before the set-up is complete it
    /// waits for it; an application that gives the connection up instead (CLOSE in SYN-SENT, RFC
    /// 9293 section 3.10.4) calls [`abort`](Self::abort), which then sends nothing.
    pub fn close(&mut self) {
        if std::mem::replace(&mut self.closing, true) {
            return;
        }
        self.sender.finish();
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            // Before the set-up is complete the close waits behind the data (RFC 9293 section
            // 3.10.4, SYN-RECEIVED).
            state => state,
        };
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether data may flow, or has flown.
    #[inline]
    pub fn is_established(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Whether the application has [closed](Self::close) its direction.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether the connection ended before its time: retransmission was given up (RFC 9293 section
    /// 3.8.3), or one of the ends has reset it.
    pub fn is_aborted(&self) -> bool {
        self.sender.aborted() || self.was_reset
    }

    /// Whether one of the ends has reset the connection (RFC 9293 section 3.5.2).
    pub fn is_reset(&self) -> bool {
        self.was_reset
    }

    /// Bytes that the application has read so far: each byte of the other end's stream once.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Bytes received in order that the application has not read.
    pub fn unread(&self) -> u64 {
        self.receiver.unread()
    }

    /// Bytes of the own stream that the other end has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.sender.una().saturating_sub(1).min(self.sender.written() - 1)
    }

    /// The other end has sent its FIN, and everything before it has arrived.
    pub fn peer_has_finished(&self) -> bool {
        self.receiver.finished()
    }

    /// Flight size in bytes.
    pub fn flight(&self) -> u64 {
        self.sender.flight()
    }

    /// Where loss recovery stands.
    pub fn phase(&self) -> Phase {
        self.sender.phase()
    }

    /// The congestion controller.
    pub fn controller(&self) -> &AnyController {
        self.sender.controller()
    }

    /// RTT and RTO.
    pub fn rtt(&self) -> &RttEstimator {
        self.sender.rtt()
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The options that both ends use; before the set-up those that this end offers.
    pub(crate) fn agreed(&self) -> Agreed {
        Agreed {
            scales: self.scaling.then_some((self.shift, self.peer_shift)),
            timestamps: self.timestamps,
            sack: self.sack,
            ecn: self.ecn,
        }
    }

    /// What was sent.
    pub fn counters(&self) -> &Counters {
        self.sender.counters()
    }

    /// When [`on_deadline`](Self::on_deadline) is to be called; [`Time::NEVER`] if no timer runs.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.sender.deadline().min(self.receiver.deadline()).min(self.quiet_until)
    }

    /// The deadline has come.
    pub fn on_deadline(&mut self, now: Time) {
        if self.receiver.deadline() <= now {
            self.receiver.on_deadline(self.sender.rtt().rto());
        }
        if self.quiet_until <= now {
            self.quiet_until = Time::NEVER;
            self.state = State::Closed;
        }
        if self.sender.deadline() <= now {
            if matches!(self.state, State::SynSent | State::SynReceived) {
                let opens = self.state == State::SynSent;
                self.sender.on_syn_timeout(&self.config, opens);
                self.urgent = Urgent::Syn;
            } else {
                self.sender.on_deadline(now, &self.config);
            }
            if self.sender.aborted() {
                self.state = State::Closed;
                self.urgent = Urgent::Nothing;
                self.receiver.ack_sent();
            }
        }
    }

    /// The segment that has just arrived was marked on its way (CE, RFC 3168 section 5).
    pub fn on_congestion_experienced(&mut self) {
        if self.ecn && !self.echo {
            self.receiver.hurry_acks(QUICK_AFTER_MARK);
        }
        self.echo = self.ecn;
    }

    /// A segment has arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        if self.is_established() {
            self.on_established_segment(now, segment);
        } else {
            self.on_handshake_segment(now, segment);
        }
    }

    /// Whether there may be a segment to be sent. Of those that have just received one, a third has
    /// none.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.urgent != Urgent::Nothing
            || self.receiver.ack_is_due()
            || self.sender.has_work()
            || self.may_have_low_priority()
    }

    /// The next segment to be sent, if there is one.
    #[inline]
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        match self.urgent {
            Urgent::Nothing => {}
            Urgent::Syn => return self.next_syn(now),
            Urgent::Reset(reset) => return Some(self.next_reset(now, reset)),
        }
        // A duplicate ACK carries no data, or it is none (RFC 5681 section 2).
        let duplicate = self.receiver.ack_is_due() && self.receiver.has_gaps();
        if !duplicate
            && self.sender.has_work()
            && self.is_established()
            && let Some(chunk) = self.sender.next_chunk(now, &self.config)
        {
            return Some(self.data_segment(now, chunk));
        }
        self.receiver.ack_is_due().then(|| self.bare_segment(now))
    }

    #[inline]
    fn on_established_segment(&mut self, now: Time, segment: &Segment) {
        let Some(number) = self.acknowledged_by_ordinary(segment) else {
            self.on_unusual_segment(now, segment);
            return;
        };
        let sequence = self.receiver.next();
        self.take_timestamp(segment, sequence);
        self.take_acknowledgement(now, segment, sequence, number);
        if segment.payload > 0 {
            self.receiver.on_next_data(now, &self.config, u64::from(segment.payload));
            if self.receiver.times_acks() {
                self.time_ack(now, segment, sequence);
            }
        }
        if self.closing || self.receiver.finished() {
            self.advance_close(now, false);
        }
    }

    #[inline(never)]
    fn on_unusual_segment(&mut self, now: Time, segment: &Segment) {
        let expected = self.receiver.next();
        let Some(sequence) = self.inward.unwrap(segment.sequence, expected) else { return };
        if segment.options.contains(Options::PROBE) {
            self.on_probe(now, segment, sequence);
            return;
        }
        if !self.accepts(now, segment, sequence) {
            return;
        }
        let fin = segment.flags.contains(Flags::FIN);
        if segment.flags.contains(Flags::CWR) {
            self.echo = false;
        }
        self.take_timestamp(segment, sequence);
        self.take_unusual_acknowledgement(now, segment, sequence);
        if segment.payload > 0 || fin {
            let length = u64::from(segment.payload);
            self.receiver.on_data(now, &self.config, sequence, length, fin);
            if self.receiver.times_acks() {
                self.time_ack(now, segment, expected);
            }
        }
        if self.closing || self.receiver.finished() {
            self.advance_close(now, fin);
        }
    }

    /// Data was taken in, and `expected` was the next number before. Decides when Linux acknowledges
    /// it.
    #[cold]
    fn time_ack(&mut self, now: Time, segment: &Segment, expected: u64) {
        if self.ecn {
            self.receiver.note_markable(segment.is_ecn_capable());
            if segment.flags.contains(Flags::CWR) {
                // The window of a sender that answers a mark may be very small
                // (`tcp_ecn_accept_cwr`).
                self.receiver.request_ack();
            }
        }
        let rtt = self.sender.rtt();
        let path = Path { srtt: rtt.srtt(), rto: rtt.rto(), least_rto: self.config.rto.min };
        let in_order = self.receiver.next() > expected;
        let push = segment.flags.contains(Flags::PSH);
        let length = u64::from(segment.payload);
        self.receiver.time_ack(now, &self.config, path, length, push, in_order);
    }

    /// RFC 7323 section 4.3: remember the timestamp of the segment that the last ACK asked for,
    /// unless it is older than the one remembered.
    #[inline]
    fn take_timestamp(&mut self, segment: &Segment, sequence: u64) {
        let is_newer = segment.timestamp.wrapping_sub(self.recent_timestamp) as i32 >= 0;
        if self.timestamps && sequence <= self.last_ack_sent && is_newer {
            self.recent_timestamp = segment.timestamp;
        }
    }

    /// A number between SND.UNA and SND.NXT is acknowledged.
    #[inline]
    fn take_acknowledgement(&mut self, now: Time, segment: &Segment, sequence: u64, number: u64) {
        let window = u64::from(segment.window) << self.peer_shift;
        if segment.sack_blocks == 0 && self.sender.knows_already(sequence, window) {
            return;
        }
        let (ack, blocks) = self.read_acknowledgement(now, segment, sequence, number);
        self.sender.on_acknowledgement(now, &self.config, &ack, blocks);
    }

    /// Nothing is known of what is acknowledged but what [`accepts`](Self::accepts) makes sure of;
    /// for probes not even that.
    fn take_unusual_acknowledgement(&mut self, now: Time, segment: &Segment, sequence: u64) {
        let una = self.sender.una();
        let Some(number) = self.out.unwrap(segment.acknowledgement, una) else { return };
        let (ack, blocks) = self.read_acknowledgement(now, segment, sequence, number);
        let plain = segment.sack_blocks == 0 && !ack.answers_probe && number == una;
        if plain && self.sender.knows_already(sequence, ack.window) {
            return;
        }
        if number < una {
            self.sender.on_old_acknowledgement(now, &self.config, &ack, blocks);
        } else if self.sender.reaches(number) {
            self.sender.on_acknowledgement(now, &self.config, &ack, blocks);
        }
    }

    /// What a segment says to the sending half, and its SACK blocks.
    #[inline(always)]
    fn read_acknowledgement<'a>(
        &self,
        now: Time,
        segment: &'a Segment,
        sequence: u64,
        number: u64,
    ) -> (Acknowledgement, impl Iterator<Item = Range> + use<'a>) {
        let una = self.sender.una();
        let mut blocks = segment.blocks();
        let mut needless = Range { start: 0, end: 0 };
        if self.dsack
            && let Some(twice) = reported_twice(segment)
        {
            needless = unwrap_block(self.out, &twice, una).unwrap_or(needless);
            blocks = &blocks[1..];
        }
        let ack = Acknowledgement {
            number,
            window: u64::from(segment.window) << self.peer_shift,
            sequence,
            carries_data: segment.payload > 0 || segment.flags.contains(Flags::FIN),
            round_trip: (self.timestamps && number > una).then(|| round_trip(now, segment.echo)),
            peer_clock: self.timestamps.then_some(segment.timestamp),
            marked: self.ecn && segment.flags.contains(Flags::ECE),
            needless,
            answers_probe: segment.options.contains(Options::PROBE_ANSWER),
        };
        let out = self.out;
        (ack, blocks.iter().filter_map(move |block| unwrap_block(out, block, una)))
    }

    fn advance_close(&mut self, now: Time, fin: bool) {
        let acknowledged = self.sender.fin_acknowledged();
        let finished = self.receiver.finished();
        self.state = match self.state {
            State::Established if finished => State::CloseWait,
            State::FinWait1 if acknowledged && finished => State::TimeWait,
            State::FinWait1 if acknowledged => State::FinWait2,
            State::FinWait1 if finished => State::Closing,
            State::FinWait2 if finished => State::TimeWait,
            State::Closing if acknowledged => State::TimeWait,
            State::LastAck if acknowledged => State::Closed,
            state => state,
        };
        // A FIN that comes again starts the wait again (RFC 9293 section 3.10.7.4, TIME-WAIT).
        if self.state == State::TimeWait && (fin || self.quiet_until == Time::NEVER) {
            self.quiet_until = now + TIME_WAIT;
        }
    }

    #[inline(always)]
    fn data_segment(&mut self, now: Time, chunk: Chunk) -> Segment {
        let mut segment = self.bare_segment(now);
        if chunk.length > 0 {
            self.receiver.data_sent(now);
        }
        segment.sequence = self.out.wrap(chunk.start);
        #[expect(clippy::cast_possible_truncation, reason = "at most a full segment")]
        let payload = chunk.length as u16;
        segment.payload = payload;
        segment.flags =
            segment.flags.with_if(chunk.push, Flags::PSH).with_if(chunk.fin, Flags::FIN);
        if self.ecn && !chunk.again {
            // Neither retransmissions nor bare ACKs may be marked (RFC 3168 section 6.1.4, 6.1.5).
            segment.options = segment.options.with_if(chunk.length > 0, Options::ECN_CAPABLE);
            segment.flags = segment.flags.with_if(self.sender.take_reduction(), Flags::CWR);
        }
        self.leave_room_for_data(&mut segment);
        segment
    }

    /// SACK blocks must not make the packet longer than the path takes.
    #[inline]
    fn leave_room_for_data(&self, segment: &mut Segment) {
        if segment.sack_blocks == 0 {
            return;
        }
        if u32::from(segment.payload) + segment.option_bytes() > self.config.mss {
            segment.sack_blocks = 0;
        }
    }

    /// A segment without data, which acknowledges everything received.
    #[inline(always)]
    fn bare_segment(&mut self, now: Time) -> Segment {
        let next = self.receiver.next();
        let window = self.receiver.window(&self.config, self.shift, self.window_limit);
        #[expect(clippy::cast_possible_truncation, reason = "the shift is for the largest window")]
        let window = (window >> self.shift) as u16;
        let mut segment = Segment {
            sequence: self.out.wrap(self.sender.number_without_data()),
            acknowledgement: self.inward.wrap(next),
            flags: Flags::ACK.with_if(self.echo, Flags::ECE),
            window,
            window_scale: Segment::NO_SCALE,
            ..Segment::default()
        };
        if self.sack && (self.receiver.has_gaps() || self.dsack) {
            (segment.sack, segment.sack_blocks) = self.sack_option();
        }
        if self.timestamps {
            segment.options = Options::TIMESTAMPS;
            segment.timestamp = timestamp(now);
            segment.echo = self.recent_timestamp;
        }
        self.last_ack_sent = next;
        self.receiver.ack_sent();
        segment
    }

    /// SACK blocks and their number. The report of what arrived twice stands before all others
    /// (RFC 2883 section 4). Given by value and not written into the segment, which without them
    /// need not be in memory.
    #[inline(never)]
    fn sack_option(&mut self) -> ([Block; MAX_SACK_BLOCKS], u8) {
        let duplicate = if self.dsack { self.receiver.take_duplicate() } else { None };
        let ranges = duplicate.into_iter().chain(self.receiver.sack_ranges());
        let mut blocks = <[Block; MAX_SACK_BLOCKS]>::default();
        let mut count = 0;
        let capacity = Segment::sack_capacity(self.timestamps);
        for (block, range) in blocks[..capacity].iter_mut().zip(ranges) {
            *block =
                Block { start: self.inward.wrap(range.start), end: self.inward.wrap(range.end) };
            count += 1;
        }
        (blocks, count)
    }
}

/// The first block of an ACK when it reports data that arrived twice: it lies below what is
/// acknowledged, or within the second block (RFC 2883 section 4).
fn reported_twice(segment: &Segment) -> Option<Block> {
    let before = |a: u32, b: u32| a.wrapping_sub(b) as i32 <= 0;
    let first = *segment.blocks().first()?;
    let within =
        |second: &Block| before(second.start, first.start) && before(first.end, second.end);
    let twice =
        before(first.end, segment.acknowledgement) || segment.blocks().get(1).is_some_and(within);
    twice.then_some(first)
}

fn unwrap_block(space: Space, block: &Block, near: u64) -> Option<Range> {
    let start = space.unwrap(block.start, near)?;
    let end = space.unwrap(block.end, near)?;
    (start < end).then_some(Range { start, end })
}

#[cfg(test)]
mod tests;
