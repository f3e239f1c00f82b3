//! The send buffer of Linux: it grows with cwnd (`tcp_sndbuf_expand`), and an application that
//! finds it full sleeps until a third of it is free (`sk_stream_write_space`).
//!
//! The room is tested only when a new packet buffer is begun (`tcp_sendmsg_locked`). A write that
//! is no multiple of a segment leaves a tail that waits to become a segment. Later writes go on in
//! it, and as long as the congestion window lets all full segments leave, no buffer is begun and
//! nothing is tested: the queue overshoots its limit.
//!
//! `tcp_notsent_lowat` is tested in the same places (`tcp_stream_memory_free`): a packet buffer
//! begins only while less than it is unsent, and a sleeping application wakes up only when less
//! than half of it is.
//!
//! The size grows while the socket is marked as full (`SOCK_NOSPACE`): with each acknowledgement,
//! and with each packet that leaves, after which cwnd is not full (`tcp_should_expand_sndbuf`). A
//! write that finds no room marks it, and so does an application that polls while less than a
//! third is free (`tcp_poll`, `sk_stream_min_wspace`). It is full until a third is free.
//!
//! Decisions:
//! - An application polls after each write, as servers with `epoll` do. So the buffer may grow
//!   after the last byte of an answer was written, and has room for more of the next one.
//! - A blocking write of Linux that finds room as soon as it waits sleeps until the next ACK, or
//!   for a random time of up to a fifth of a second (`sk_stream_wait_memory`). It can do so only
//!   with `tcp_notsent_lowat`, where the window lets all data leave. Here it goes on at once, as an
//!   application does that polls.
//! - An application writes as fast as it may. All that may leave after a write leaves before the
//!   next one.
//! - Packet buffers are split where packets leave, and not merged again.

use std::collections::VecDeque;

use units::Time;

use super::SendTuning;

/// Segments for which the buffer has room at the start (`TCP_INIT_CWND`), and at least later.
const FIRST_SEGMENTS: u64 = 10;
/// Room for headers in a packet buffer (`MAX_TCP_HEADER`).
const HEADERS: u64 = 256;
/// `skb_shared_info`, behind it.
const SHARED_INFO: u64 = 320;
/// `sk_buff`.
const SK_BUFF: u64 = 256;
/// Memory of a packet buffer besides its payload, as `ss -m` shows it on Linux 6.18.
const HEAD: u64 = HEADERS + SHARED_INFO + SK_BUFF;
/// Most payload of a packet buffer (`sk_gso_max_size`, less the headers).
const LARGEST: u64 = 65_535 - HEADERS;

/// Positions in the stream that the buffer needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Positions {
    /// First byte that was not acknowledged.
    pub(crate) acknowledged: u64,
    /// Behind the last byte that was sent.
    pub(crate) sent: u64,
    /// Behind the last byte that is in the buffer.
    pub(crate) buffered: u64,
    /// Behind the last byte that the application has to write.
    pub(crate) written: u64,
}

/// The congestion window as the size of a buffer follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CongestionWindow {
    /// Its bytes.
    pub(crate) cwnd: u64,
    /// Windows that the buffer holds (`sndbuf_expand`).
    pub(crate) windows: u64,
}

/// A send buffer.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    /// `tcp_wmem[2]`.
    max: u64,
    /// Bytes of a write.
    write: u64,
    /// `tcp_notsent_lowat`.
    lowat: u64,
    /// `sk_sndbuf`.
    size: u64,
    /// Memory of a segment that has a packet buffer of its own.
    per_segment: u64,
    /// Payload of a full segment.
    mss: u64,
    /// Most payload of a packet buffer: whole segments (`tcp_xmit_size_goal`).
    largest: u64,
    /// The application sleeps in a write.
    is_blocked: bool,
    /// The socket is marked as full.
    is_full: bool,
    /// The application has written, and has not polled since.
    will_poll: bool,
    /// Bytes that remain of the present write.
    left: u64,
    /// Bytes in the last packet buffer, as far as they were not sent.
    tail: u64,
    /// First bytes of packets that were sent and not acknowledged.
    packets: VecDeque<u64>,
    /// Time of the last one.
    last_packet: Time,
}

impl SendBuffer {
    /// A buffer before the connection is open, when nothing may be written.
    pub(crate) fn new(tuning: &SendTuning) -> Self {
        Self {
            max: tuning.max.get(),
            write: tuning.write.get(),
            lowat: tuning.notsent_lowat.get(),
            size: tuning.default.get(),
            per_segment: 0,
            mss: 0,
            largest: 1,
            is_blocked: false,
            is_full: false,
            will_poll: false,
            left: 0,
            tail: 0,
            packets: VecDeque::new(),
            last_packet: Time::NEVER,
        }
    }

    /// The connection is open, with segments of `mss` bytes. The buffer holds `windows` congestion
    /// windows (`sndbuf_expand`).
    pub(crate) fn open(&mut self, mss: u64, windows: u64) {
        self.mss = mss;
        self.largest = (LARGEST / mss.max(1)).max(1) * mss.max(1);
        self.per_segment = (mss + HEADERS + SHARED_INFO).next_power_of_two() + SK_BUFF;
        self.expand(0, windows);
    }

    /// `tcp_sndbuf_expand`, with a congestion window of `cwnd` bytes.
    fn expand(&mut self, cwnd: u64, windows: u64) {
        let segments = (cwnd / self.mss.max(1)).max(FIRST_SEGMENTS);
        let wanted = windows * segments * self.per_segment;
        if wanted > self.size {
            self.size = wanted.min(self.max).max(self.size);
        }
    }

    /// Memory of what waits for an acknowledgement or to be sent (`sk_wmem_queued`).
    pub(crate) fn memory(&self, at: &Positions) -> u64 {
        let unsent = at.buffered - at.sent;
        let tail = self.tail.min(unsent);
        let before_tail = match unsent - tail {
            // Mostly, and without a division.
            0 => 0,
            bytes => bytes.div_ceil(self.largest),
        };
        let waiting = before_tail + u64::from(tail > 0);
        at.buffered - at.acknowledged + HEAD * (self.packets.len() as u64 + waiting)
    }

    /// A packet leaves whose first byte is `start`, for the first time.
    pub(crate) fn on_packet(&mut self, now: Time, start: u64) {
        self.packets.push_back(start);
        self.last_packet = now;
    }

    /// Returns true if the buffer may grow, or a sleeping application wake up, because a packet has
    /// just left, before the next one does (`tcp_event_new_data_sent`).
    pub(crate) fn looks_between_packets(&self, now: Time) -> bool {
        self.is_full && self.last_packet == now
    }

    /// Everything before `acknowledged` is acknowledged, of what was sent before `sent`.
    pub(crate) fn on_acknowledged(&mut self, acknowledged: u64, sent: u64) {
        if acknowledged >= sent {
            self.packets.clear();
        }
        while self.packets.get(1).is_some_and(|next| *next <= acknowledged) {
            self.packets.pop_front();
        }
    }

    /// The application goes on with its write until it ends or sleeps. Returns the bytes that have
    /// joined the buffer.
    ///
    /// All that may leave, leaves after it. Within a write, one packet of `packet` bytes leaves
    /// when a buffer is full and nothing is before it (`tcp_push_one`), if the windows let it; both
    /// have room for `open` bytes. What then remains of the buffer takes more data.
    pub(crate) fn fill(&mut self, at: &Positions, mut open: u64, packet: u64) -> u64 {
        let mut now = *at;
        self.tail = self.tail.min(at.buffered - at.sent);
        if self.left == 0 {
            self.left = self.write.min(at.written - at.buffered);
        }
        let largest = self.largest;
        while self.left > 0 {
            let is_first = self.tail == now.buffered - now.sent;
            if self.tail == largest && is_first && open >= self.mss {
                let leaves = packet.min(open - open % self.mss).min(self.tail);
                (open, now.sent) = (open - leaves, now.sent + leaves);
                self.tail -= leaves;
            }
            if self.tail == 0 || self.tail >= largest {
                if self.memory(&now) >= self.size || now.buffered - now.sent >= self.lowat {
                    (self.is_blocked, self.is_full) = (true, true);
                    break;
                }
                self.tail = 0;
            }
            let copied = self.left.min(largest - self.tail);
            self.left -= copied;
            self.tail += copied;
            now.buffered += copied;
        }
        self.will_poll = true;
        now.buffered - at.buffered
    }

    /// An acknowledgement has come, and all that may leave has left, or a packet: the buffer may
    /// grow, and a sleeping application wake up (`tcp_check_space`). `unfilled` is called only if
    /// it may grow: the congestion window, if it is not full.
    pub(crate) fn check(
        &mut self,
        at: &Positions,
        unfilled: impl FnOnce() -> Option<CongestionWindow>,
    ) {
        if !self.is_full {
            return;
        }
        if self.size < self.max
            && let Some(CongestionWindow { cwnd, windows }) = unfilled()
        {
            self.expand(cwnd, windows);
        }
        if self.is_writable(at) {
            (self.is_blocked, self.is_full) = (false, false);
        }
    }

    /// The application has nothing to write. If it has written, and all that may leave has left, it
    /// polls.
    pub(crate) fn rest(
        &mut self,
        at: &Positions,
        unfilled: impl FnOnce() -> Option<CongestionWindow>,
    ) {
        self.check(at, unfilled);
        if std::mem::take(&mut self.will_poll) && !self.is_writable(at) {
            self.is_full = true;
        }
    }

    /// `__sk_stream_is_writeable`, as a wake-up and a poll test it.
    fn is_writable(&self, at: &Positions) -> bool {
        let memory = self.memory(at);
        let is_little = 2 * (at.buffered - at.sent) < self.lowat;
        self.size.saturating_sub(memory) >= memory / 2 && is_little
    }

    /// Its memory (`SO_SNDBUF`).
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns true if the application waits for room.
    pub(crate) fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// The application takes back what was never sent.
    pub(crate) fn withdraw(&mut self) {
        (self.left, self.tail, self.is_blocked) = (0, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, SizeLimit};

    const MSS: u64 = 1448;
    /// A packet buffer of 45 segments.
    const FULL: u64 = 45 * MSS;

    /// A buffer of an open connection, with the positions of its stream.
    struct End {
        buffer: SendBuffer,
        at: Positions,
    }

    impl End {
        fn new(write: u64) -> Self {
            let tuning = SendTuning {
                default: SendTuning::DEFAULT,
                max: SendTuning::MAX,
                write: Bytes(write),
                notsent_lowat: SizeLimit::UNLIMITED,
            };
            let mut buffer = SendBuffer::new(&tuning);
            buffer.open(MSS, 2);
            let written = 1 << 40;
            Self { buffer, at: Positions { acknowledged: 1, sent: 1, buffered: 1, written } }
        }

        /// Writes until the application sleeps or, with an open window, `most` bytes are buffered.
        fn write(&mut self, is_open: bool, most: u64) {
            while !self.buffer.is_blocked() && self.at.buffered < most.min(self.at.written) {
                let open = if is_open { u64::MAX } else { 0 };
                self.at.buffered += self.buffer.fill(&self.at, open, 8 * MSS);
                while is_open && self.at.sent + MSS <= self.at.buffered {
                    self.send(45);
                }
            }
        }

        fn send(&mut self, segments: u64) {
            let whole = (self.at.buffered - self.at.sent) / MSS;
            self.buffer.on_packet(Time::ZERO, self.at.sent);
            self.at.sent += segments.min(whole) * MSS;
        }

        fn acknowledge(&mut self, bytes: u64, cwnd: u64) {
            self.at.acknowledged += bytes;
            self.buffer.on_acknowledged(self.at.acknowledged, self.at.sent);
            self.buffer.check(&self.at, || Some(CongestionWindow { cwnd, windows: 2 }));
        }
    }

    #[test]
    fn it_begins_with_room_for_ten_segments_and_grows_with_two_windows() {
        let mut end = End::new(65_536);
        assert_eq!(end.buffer.size, 46_080);
        end.write(false, u64::MAX);
        assert!(end.buffer.is_blocked());
        end.acknowledge(1, 100 * MSS);
        assert_eq!(end.buffer.size, 2 * 100 * 2304);
        (end.buffer.is_blocked, end.buffer.is_full) = (true, true);
        end.acknowledge(1, 5000 * MSS);
        assert_eq!(end.buffer.size, 4 << 20);
    }

    #[test]
    fn it_grows_after_the_last_byte_until_a_third_is_free_if_the_application_polls() {
        let of = |segments| move || Some(CongestionWindow { cwnd: segments * MSS, windows: 2 });
        // 25 segments take more than two thirds of its memory, and 13 less.
        for (segments, grows) in [(25, true), (13, false)] {
            let mut end = End::new(65_536);
            end.at.written = 1 + segments * MSS;
            end.write(false, u64::MAX);
            assert!(!end.buffer.is_blocked(), "all is written");
            end.buffer.rest(&end.at, || None);
            assert_eq!(end.buffer.size, 46_080, "cwnd is full");
            end.at.acknowledged += MSS;
            end.buffer.rest(&end.at, of(100));
            let expected = if grows { 2 * 100 * 2304 } else { 46_080 };
            assert_eq!(end.buffer.size, expected, "{segments} segments");
            // It has enough room now, so it is not marked.
            end.at.acknowledged += MSS;
            end.buffer.rest(&end.at, of(200));
            assert_eq!(end.buffer.size, expected, "{segments} segments");
        }
    }

    #[test]
    fn a_sleeping_application_wakes_at_two_thirds() {
        let mut end = End::new(FULL);
        end.buffer.size = 4 << 20;
        end.write(true, u64::MAX);
        let full = end.buffer.memory(&end.at);
        assert!((4 << 20..(4 << 20) + FULL + HEAD).contains(&full), "{full}");
        while end.buffer.is_blocked() {
            let before = end.buffer.memory(&end.at);
            end.acknowledge(MSS, 10);
            let memory = end.buffer.memory(&end.at);
            let is_low = 3 * memory <= 2 * (4 << 20) + 1;
            assert_eq!(end.buffer.is_blocked(), !is_low, "{memory} after {before}");
        }
    }

    #[test]
    fn writes_of_whole_segments_keep_the_limit_and_others_overshoot_it_while_the_window_is_open() {
        let reached = |write: u64| {
            let mut end = End::new(write);
            end.buffer.size = 4 << 20;
            end.write(true, 100_000_000);
            end.buffer.memory(&end.at)
        };
        assert!(reached(FULL) < (4 << 20) + FULL + HEAD);
        // 65,536 bytes leave a tail of 376 bytes more each time; after 181 writes it is empty.
        let most = reached(65_536);
        assert!((11_800_000..12_800_000).contains(&most), "{most}");
    }

    #[test]
    fn a_closed_window_ends_at_the_limit_whatever_the_writes_are() {
        for write in [1000, 65_536, 1_000_000] {
            let mut end = End::new(write);
            end.buffer.size = 4 << 20;
            end.write(false, u64::MAX);
            let memory = end.buffer.memory(&end.at);
            assert!((4 << 20..(4 << 20) + FULL + HEAD).contains(&memory), "{memory} for {write}");
        }
    }
}
