//! One connection: both directions, its handshake, its end, its stalls, and the time in which a
//! window limited it.
//!
//! A stall is a time without packets in which data was in flight, or the window had no room for it,
//! and that is longer than min(2 SRTT, RTO). Source: J. Zhou and others, "Demystifying and
//! mitigating TCP stalls at the server side" (TAPO), CoNEXT 2015, section 3. The RTO is that of
//! RFC 6298 with the 200 ms of Linux as its minimum. The lower limit of 10 ms is a decision of this
//! project: below it are the ticks of hosts.

use std::net::SocketAddr;

use wire::tcp::flags;

use crate::flow::{Cause, Flow, Offered};
use crate::outstanding::Sample;
use crate::segment::Segment;
use crate::verdict::{Kind, Placed, Sequence, Verdict, judge};

/// Minimum RTO of Linux, in ns.
const MIN_RTO_NS: f64 = 200e6;
/// RTO without an RTT (RFC 6298 section 2.1), in ns.
const FIRST_RTO_NS: f64 = 1e9;
/// Shorter gaps are no stalls, in ns.
const MIN_STALL_NS: f64 = 10e6;

/// Direction from the client to the server, and the other one.
pub(crate) const TO_SERVER: usize = 0;
pub(crate) const TO_CLIENT: usize = 1;

/// Times of the handshake in ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshake {
    pub syn_at: Option<u64>,
    pub syn_ack_at: Option<u64>,
    /// SYN to SYN/ACK: the RTT between capture and server.
    pub server_ns: Option<u64>,
    /// SYN/ACK to ACK: the RTT between capture and client.
    pub client_ns: Option<u64>,
    syns: u32,
    syn_acks: u32,
}

/// Time in which nothing was sent and nothing was in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idle {
    pub count: u64,
    pub total_ns: u64,
    pub longest_ns: u64,
}

/// A packet of a connection, as an observer sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Number of the packet in the file, from 1.
    pub packet: u64,
    /// Number of the connection, from 1.
    pub connection: u64,
    /// True from the client to the server.
    pub to_server: bool,
    /// Time since 1970 in ns.
    pub at_ns: u64,
    /// Time of the first packet of the capture since 1970 in ns.
    pub zero_ns: u64,
    /// Position of its first byte; the SYN has 0.
    pub start: i64,
    /// Position after its last byte of data.
    pub end: i64,
    /// Wireshark's flags.
    pub verdict: Verdict,
    /// Some of its data was captured before.
    pub repeated: bool,
    /// Its ACK as a position of the other direction.
    pub ack: Option<i64>,
    /// Position of the other direction at which the advertised window ends, if its scale is known.
    pub edge: Option<i64>,
    /// SACK blocks as positions of the other direction.
    pub sacks: &'a [(i64, i64)],
    /// RTT that its ACK gives.
    pub sample: Option<Sample>,
    /// Data of its direction in flight, less SACK blocks; `None` if it is unknown.
    pub flight: Option<i64>,
}

/// A connection that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub number: u64,
    /// Client and server.
    pub ends: [SocketAddr; 2],
    /// The handshake was seen, so that client and server are known.
    pub is_client_known: bool,
    pub first_at: u64,
    pub last_at: u64,
    pub sequences: [Sequence; 2],
    pub flows: [Flow; 2],
    pub handshake: Handshake,
    pub idle: Idle,
    pub fins: [bool; 2],
    /// Direction of the first RST.
    pub reset: Option<usize>,
    /// Wireshark's RTT of the handshake: from the last SYN to the first ACK.
    initial_rtt: Option<u64>,
    last_syn_at: Option<u64>,
    /// Directions whose window had no room for a segment after the last packet.
    limited: [bool; 2],
    /// Bytes of each direction in the SACK blocks of the last packet of its receiver.
    sacked: [i64; 2],
    closed: [bool; 2],
    started: bool,
}

impl Connection {
    pub fn new(number: u64, segment: &Segment) -> Self {
        let is_answer = segment.has(flags::SYN) && segment.has(flags::ACK);
        let (sender, receiver) = (segment.source, segment.destination);
        Self {
            number,
            ends: if is_answer { [receiver, sender] } else { [sender, receiver] },
            is_client_known: segment.has(flags::SYN),
            first_at: segment.at_ns,
            last_at: segment.at_ns,
            sequences: Default::default(),
            flows: Default::default(),
            handshake: Handshake::default(),
            idle: Idle::default(),
            fins: [false; 2],
            reset: None,
            initial_rtt: None,
            last_syn_at: None,
            limited: [false; 2],
            sacked: [0; 2],
            closed: [false; 2],
            started: false,
        }
    }

    /// The direction of a segment.
    pub fn direction(&self, segment: &Segment) -> usize {
        usize::from(segment.source != self.ends[TO_SERVER])
    }

    /// True if this SYN begins another connection between the same ports.
    pub fn is_other(&self, segment: &Segment) -> bool {
        let is_syn = segment.has(flags::SYN) && !segment.has(flags::ACK);
        let base = self.sequences[self.direction(segment)].base;
        is_syn && base.is_some_and(|base| base != segment.sequence)
    }

    /// Takes a packet, and shows it to `observe`.
    pub fn take(&mut self, segment: &Segment, zero_ns: u64, observe: &mut impl FnMut(&Seen<'_>)) {
        let direction = self.direction(segment);
        if self.flows[direction].is_copy(segment) {
            return;
        }
        let placed = self.place(segment, direction);
        let before = [self.flight(TO_SERVER), self.flight(TO_CLIENT)];
        let [fwd, rev] = split(&mut self.sequences, direction);
        let verdict = judge(fwd, rev, &placed, self.initial_rtt);
        self.pass_time(segment.at_ns, direction, before, verdict);

        let peer_mss = self.peer_mss(direction);
        let repeated = self.flows[direction].count(segment, placed.start, verdict, peer_mss);
        if segment.span() > 0 && !verdict.keep_alive && !verdict.zero_window_probe {
            let outstanding = &mut self.flows[direction].outstanding;
            outstanding.transmit(placed.start, placed.end(), segment.at_ns);
        }
        let other = 1 - direction;
        let sample = placed.ack.and_then(|ack| self.flows[other].acknowledge(ack, segment.at_ns));
        self.stamps(segment, direction);
        self.shake_hands(segment, direction);
        self.end(segment, direction);
        let mut sacks = [(0, 0); wire::segment::MOST_SACK_BLOCKS];
        let blocks = segment.options.sacks();
        for (block, &(from, to)) in sacks.iter_mut().zip(blocks) {
            let sequence = &self.sequences[other];
            *block = (sequence.position(from), sequence.position(to));
        }
        let sacks = &sacks[..blocks.len()];
        self.sacked[other] = sacks.iter().map(|(from, to)| (to - from).max(0)).sum();
        self.note_windows();
        observe(&Seen {
            packet: segment.number,
            connection: self.number,
            to_server: direction == TO_SERVER,
            at_ns: segment.at_ns,
            zero_ns,
            start: placed.start,
            end: placed.start + i64::from(segment.length),
            verdict,
            repeated,
            ack: placed.ack,
            edge: self.sequences[direction].edge(),
            sacks,
            sample,
            flight: self.flight(direction),
        });
    }

    /// MSS that the receiver of a direction announced.
    pub fn peer_mss(&self, direction: usize) -> Option<u16> {
        self.flows[1 - direction].offered.and_then(|offered| offered.mss)
    }

    /// Data of a direction in flight.
    pub fn flight(&self, direction: usize) -> Option<i64> {
        let flight = self.flows[direction].flight(self.sequences[direction].next)?;
        let fin = i64::from(self.fins[direction]);
        Some((flight - self.sacked[direction] - fin).max(0))
    }

    /// RTT between the capture and the sender of a direction, in ns: the part that its RTTs miss.
    pub fn missed_ns(&self, direction: usize) -> Option<u64> {
        let Handshake { server_ns, client_ns, .. } = self.handshake;
        let shaken = if direction == TO_SERVER { client_ns } else { server_ns };
        let other = &self.flows[1 - direction];
        shaken
            .or(other.rtt.min)
            .into_iter()
            .chain(other.stamped_rtt.min)
            .chain(other.echo_min)
            .min()
    }

    fn place<'a>(&mut self, segment: &'a Segment, direction: usize) -> Placed<'a> {
        let is_syn = segment.has(flags::SYN);
        let [fwd, rev] = split(&mut self.sequences, direction);
        if is_syn && !segment.has(flags::ACK) && fwd.base == Some(segment.sequence) {
            fwd.repeat_syn();
        }
        if is_syn
            && segment.has(flags::ACK)
            && fwd.base.is_some_and(|base| base != segment.sequence)
        {
            *fwd = Sequence::default();
        }
        let start = fwd.place(segment.sequence, is_syn);
        let ack = segment.has(flags::ACK).then(|| rev.place(segment.acknowledgement, false));
        Placed { segment, start, ack }
    }

    /// Times since the last packet: stalls, idle times, and times with a limiting window.
    fn pass_time(&mut self, at: u64, direction: usize, before: [Option<i64>; 2], verdict: Verdict) {
        let passed = at.saturating_sub(self.last_at);
        if self.started {
            for (flow, (limited, closed)) in
                self.flows.iter_mut().zip(self.limited.iter().zip(&self.closed))
            {
                flow.limited_ns += if *limited { passed } else { 0 };
                flow.closed_ns += if *closed { passed } else { 0 };
            }
            self.judge_gap(passed, direction, before, verdict);
        }
        self.started = true;
        self.last_at = self.last_at.max(at);
        let flow = &mut self.flows[direction];
        let own = flow.last_at.map_or(0, |last| at.saturating_sub(last));
        flow.longest_gap_ns = flow.longest_gap_ns.max(own);
        flow.last_at = Some(at);
    }

    fn judge_gap(&mut self, passed: u64, from: usize, before: [Option<i64>; 2], verdict: Verdict) {
        if passed as f64 <= MIN_STALL_NS {
            return;
        }
        // The direction with more data in flight waits. Without ACKs of the other end, a
        // retransmission shows that data was in flight.
        let is_repair = |direction: usize| from == direction && verdict.kind != Kind::New;
        let waiting =
            |direction: usize| before[direction].unwrap_or_else(|| i64::from(is_repair(direction)));
        let direction = usize::from(waiting(TO_CLIENT) > waiting(TO_SERVER));
        let in_flight = waiting(direction) > 0;
        let direction = if in_flight { direction } else { usize::from(self.limited[TO_CLIENT]) };
        if !in_flight && !self.limited[direction] {
            if passed as f64 > self.stall_limit(direction) {
                self.idle.count += 1;
                self.idle.total_ns += passed;
                self.idle.longest_ns = self.idle.longest_ns.max(passed);
            }
            return;
        }
        if passed as f64 <= self.stall_limit(direction) {
            return;
        }
        let cause = match (is_repair(direction), in_flight) {
            (true, _) => Cause::Retransmission,
            (false, false) => Cause::Window,
            (false, true) => Cause::Delay,
        };
        self.flows[direction].stalls.add(passed, cause);
    }

    /// Longest time without packets that is no stall of a direction, in ns.
    fn stall_limit(&self, direction: usize) -> f64 {
        let missed = self.missed_ns(direction).unwrap_or(0) as f64;
        let measured = self.flows[direction].estimate.now();
        let shaken = || Some((self.initial_rtt? as f64 - missed, self.initial_rtt? as f64 * 2.0));
        let Some((smoothed, four)) = measured.or_else(shaken) else { return FIRST_RTO_NS };
        let rtt = smoothed.max(0.0) + missed;
        (2.0 * rtt).min((rtt + four).max(MIN_RTO_NS)).max(MIN_STALL_NS)
    }

    /// RTTs by timestamps.
    fn stamps(&mut self, segment: &Segment, direction: usize) {
        let Some((value, echo)) = segment.options.timestamps else { return };
        let at = segment.at_ns;
        let with_data = segment.length > 0;
        self.flows[direction].timestamps.sent(value, at, with_data);
        if !segment.has(flags::ACK) {
            return;
        }
        let other = &mut self.flows[1 - direction];
        match other.timestamps.echoed(echo, at) {
            Some((rtt, true)) => other.stamped_rtt.record(rtt),
            Some((rtt, false)) => {
                other.echo_min = Some(other.echo_min.map_or(rtt, |min| min.min(rtt)));
            }
            None => {}
        }
    }

    fn shake_hands(&mut self, segment: &Segment, direction: usize) {
        let at = segment.at_ns;
        let (syn, ack) = (segment.has(flags::SYN), segment.has(flags::ACK));
        if syn {
            self.negotiate(segment, direction);
            if ack {
                self.handshake.syn_acks += 1;
                self.handshake.syn_ack_at = Some(at);
                if self.handshake.syns == 1 && self.handshake.syn_acks == 1 {
                    let since = |syn| at.saturating_sub(syn);
                    self.handshake.server_ns = self.handshake.syn_at.map(since);
                }
            } else {
                self.handshake.syns += 1;
                self.handshake.syn_at = Some(at);
                self.last_syn_at = Some(at);
            }
            return;
        }
        if !ack {
            return;
        }
        self.sequences[direction].unscaled = false;
        if self.initial_rtt.is_none() {
            self.initial_rtt = self.last_syn_at.map(|syn| at.saturating_sub(syn));
        }
        let Handshake { syn_ack_at, client_ns, syn_acks, .. } = self.handshake;
        if direction == TO_SERVER && client_ns.is_none() && syn_acks == 1 {
            self.handshake.client_ns = syn_ack_at.map(|syn_ack| at.saturating_sub(syn_ack));
        }
    }

    /// Takes the options of a SYN. Windows are scaled only if both SYNs have the option (RFC 7323
    /// section 2.2).
    fn negotiate(&mut self, segment: &Segment, direction: usize) {
        let options = &segment.options;
        self.flows[direction].offered = Some(Offered {
            mss: options.mss,
            window_scale: options.window_scale,
            sack: options.sack_permitted,
            timestamps: options.timestamps.is_some(),
        });
        let is_answer = segment.has(flags::ACK);
        let [fwd, rev] = split(&mut self.sequences, direction);
        fwd.unscaled = true;
        fwd.scale = options.window_scale.or(Some(0));
        if options.window_scale.is_none() {
            rev.scale = Some(0);
        } else if is_answer
            && self.flows[1 - direction].offered.is_some_and(|it| it.window_scale.is_none())
        {
            fwd.scale = Some(0);
        }
    }

    fn end(&mut self, segment: &Segment, direction: usize) {
        self.fins[direction] |= segment.has(flags::FIN);
        if segment.has(flags::RST) && self.reset.is_none() {
            self.reset = Some(direction);
        }
    }

    /// Notes which directions have no room in the window, and the largest flight.
    fn note_windows(&mut self) {
        for direction in [TO_SERVER, TO_CLIENT] {
            let peer_mss = self.peer_mss(direction);
            let flight = self.flight(direction);
            let (own, receiver) = (&self.sequences[direction], &self.sequences[1 - direction]);
            let flow = &mut self.flows[direction];
            let (Some(next), true) = (own.next, flow.counts.data_segments > 0) else { continue };
            flow.max_flight = flow.max_flight.max(flight);
            flow.max_window = flow.max_window.max(receiver.advertised());
            let room = receiver.edge().map(|edge| edge - next);
            // After the FIN there is no more data for which room could be missing.
            let open = !self.fins[direction] && self.reset.is_none();
            self.limited[direction] = open && room.is_some_and(|room| room < flow.full(peer_mss));
            self.closed[direction] = open && receiver.is_closed();
        }
    }
}

/// The direction of a segment, and the other one.
fn split<T>(both: &mut [T; 2], direction: usize) -> [&mut T; 2] {
    let [to_server, to_client] = both;
    if direction == TO_SERVER { [to_server, to_client] } else { [to_client, to_server] }
}
