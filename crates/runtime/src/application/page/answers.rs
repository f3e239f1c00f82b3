//! Answers of a server on the byte stream of a connection.
//!
//! HTTP/1.1 has one at a time. With HTTP/2, frames of answers follow one another by priority
//! (RFC 9218 section 10): the smallest urgency first; within it answers that are not incremental in
//! the order of their requests, then the others frame by frame in turn. Frames that the transport
//! has not sent are put in order again when another answer is ready, as by a server that keeps its
//! answers until the socket takes them. So the place of a frame is decided once the stream has got
//! there: that costs as much for each frame, however many answers wait.
//!
//! A frame of HTTP/2 is a record of TLS of its own, and so is a header of HTTP/1.1. A record is
//! decrypted as a whole (RFC 8446 section 5.2), so nothing of it can be used before its last byte.

use std::collections::{BTreeMap, VecDeque};

/// Bytes of content in a frame (RFC 9113 section 4.2, the smallest of the largest sizes).
const FRAME: u64 = 16_384;
/// Header of a frame (RFC 9113 section 4.1).
const FRAME_HEADER: u64 = 9;

/// The priority of an answer.
///
/// The order of answers: by urgency, smaller first, and at equal urgency answers that are not
/// incremental before those that are (RFC 9218 section 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Priority {
    pub urgency: u8,
    pub incremental: bool,
}

/// An answer of which something is not in order yet.
#[derive(Clone, Debug)]
struct Answer {
    object: usize,
    /// Place among all answers of the connection.
    order: u64,
    /// Bytes of the frame with the header; zero once it is placed.
    header: u64,
    /// Bytes of content that are not placed.
    content: u64,
}

/// A frame at its place in the stream.
#[derive(Clone, Copy, Debug)]
struct Frame {
    object: usize,
    order: u64,
    priority: Priority,
    /// Offsets in the stream of its first byte and of the byte after its last.
    start: u64,
    end: u64,
    /// Bytes of content; a frame with a header has none.
    content: u64,
    is_last: bool,
}

/// The answers of a connection.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    /// Bytes that TLS adds to a record; each frame has one.
    record: u64,
    /// Bytes of the header of a frame; `None` for HTTP/1.1, which has no frames.
    frame_header: Option<u64>,
    /// Answers that are not placed completely, by priority in the order of their turns.
    waiting: BTreeMap<Priority, VecDeque<Answer>>,
    /// Frames of which something has not arrived: the next one, if there is any, and those behind
    /// it that were sent.
    placed: VecDeque<Frame>,
    /// End of the frames that have a place.
    placed_to: u64,
    /// End of the stream.
    end: u64,
    next_order: u64,
}

/// Something of an answer that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    /// The first byte that can be used: the header's first, or with frames and records the end of
    /// the header's.
    First(usize),
    /// All bytes.
    Last(usize),
}

impl Answers {
    /// Answers in frames of HTTP/2 from the offset `end` of the stream on.
    pub(super) fn framed(record: u64, end: u64) -> Self {
        Self { frame_header: Some(FRAME_HEADER), ..Self::plain(record, end) }
    }

    /// Answers of HTTP/1.1 from the offset `end` of the stream on.
    pub(super) fn plain(record: u64, end: u64) -> Self {
        Self {
            record,
            frame_header: None,
            waiting: BTreeMap::new(),
            placed: VecDeque::new(),
            placed_to: end,
            end,
            next_order: 0,
        }
    }

    /// The end of the stream.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes that framing adds.
    fn around(&self) -> u64 {
        self.frame_header.unwrap_or_default() + self.record
    }

    /// Adds an answer with the bytes of its header and content. Its frames have their turns among
    /// all that begin at the offset `sent` or later. Returns the end of the stream.
    pub(super) fn add(
        &mut self,
        object: usize,
        (header, content): (u64, u64),
        priority: Priority,
        sent: u64,
    ) -> u64 {
        while self.placed_to < sent && self.place_next() {}
        self.take_back(sent);
        let order = self.next_order;
        self.next_order += 1;
        let answer = Answer { object, order, header, content };
        let frames = 1 + content.div_ceil(FRAME);
        self.end += header + content + frames * self.around();
        self.waiting.entry(priority).or_default().push_back(answer);
        self.place_if_none();
        self.end
    }

    /// Takes frames back of which nothing was sent.
    fn take_back(&mut self, sent: u64) {
        while let Some(frame) = self.placed.back().copied().filter(|frame| frame.start >= sent) {
            self.placed.pop_back();
            self.placed_to = frame.start;
            let Frame { object, priority, order, content, .. } = frame;
            let around = self.around();
            let answers = self.waiting.entry(priority).or_default();
            let known = answers.iter().position(|answer| answer.order == order);
            let taken = known.and_then(|number| answers.remove(number));
            let mut answer = taken.unwrap_or(Answer { object, order, header: 0, content: 0 });
            answer.content += content;
            if content == 0 {
                answer.header = frame.end - frame.start - around;
            }
            // Its turn is before those of all frames behind.
            answers.push_front(answer);
        }
    }

    /// Gives the next frame by priority its place. Returns false if there is none.
    fn place_next(&mut self) -> bool {
        let around = self.around();
        let Some(mut entry) = self.waiting.first_entry() else { return false };
        let priority = *entry.key();
        let Some(mut answer) = entry.get_mut().pop_front() else { return false };
        let Answer { object, order, header, .. } = answer;
        let content = if header > 0 { 0 } else { answer.content.min(FRAME) };
        let start = self.placed_to;
        let end = start + around + header + content;
        answer.header = 0;
        answer.content -= content;
        let is_last = answer.content == 0;
        match (is_last, priority.incremental) {
            (false, true) => entry.get_mut().push_back(answer),
            (false, false) => entry.get_mut().push_front(answer),
            (true, _) => {}
        }
        if entry.get().is_empty() {
            entry.remove();
        }
        self.placed_to = end;
        self.placed.push_back(Frame { object, order, priority, start, end, content, is_last });
        true
    }

    fn place_if_none(&mut self) {
        if self.placed.is_empty() {
            self.place_next();
        }
    }

    /// The offset at which something of the next frame has arrived.
    pub(super) fn next_offset(&self) -> Option<u64> {
        self.placed.front().map(|frame| self.usable_at(frame))
    }

    /// The offset of the stream at which something of a frame can be used.
    fn usable_at(&self, frame: &Frame) -> u64 {
        let is_in_the_clear = self.around() == 0;
        if is_in_the_clear && frame.content == 0 { frame.start + 1 } else { frame.end }
    }

    /// The next part that has arrived of `received` bytes of the stream.
    pub(super) fn take_arrived(&mut self, received: u64) -> Option<Arrived> {
        loop {
            let frame = *self.placed.front()?;
            if received < self.usable_at(&frame) {
                return None;
            }
            self.take_front();
            if frame.content == 0 {
                return Some(Arrived::First(frame.object));
            }
            if frame.is_last {
                return Some(Arrived::Last(frame.object));
            }
        }
    }

    fn take_front(&mut self) {
        self.placed.pop_front();
        self.place_if_none();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Priority = Priority { urgency: 1, incremental: false };
    const SHARED: Priority = Priority { urgency: 4, incremental: true };

    /// The order of all frames, if no answer follows.
    fn order(answers: &Answers) -> Vec<(usize, u64)> {
        let mut answers = answers.clone();
        while answers.place_next() {}
        assert_eq!(answers.placed_to, answers.end);
        answers.placed.iter().map(|frame| (frame.object, frame.content)).collect()
    }

    #[test]
    fn incremental_answers_take_turns_and_others_follow_their_requests() {
        let mut answers = Answers::framed(22, 100);
        answers.add(0, (80, 20_000), SHARED, 100);
        answers.add(1, (80, 20_000), SHARED, 100);
        let turns = [(0, 0), (1, 0), (0, FRAME), (1, FRAME), (0, 3616), (1, 3616)];
        assert_eq!(order(&answers), turns);
        let end = answers.add(2, (80, 20_000), WHOLE, 100);
        assert_eq!(order(&answers)[..3], [(2, 0), (2, FRAME), (2, 3616)]);
        assert_eq!(order(&answers)[3..], turns);
        assert_eq!(end, 100 + 3 * (20_000 + 80 + 3 * (9 + 22)));
    }

    #[test]
    fn what_was_sent_stays_and_the_rest_waits_for_what_is_more_urgent() {
        let mut answers = Answers::framed(0, 0);
        answers.add(0, (80, 40_000), SHARED, 0);
        // The header and a byte of the first frame were sent.
        answers.add(1, (80, 10), WHOLE, 90);
        assert_eq!(order(&answers), [(0, 0), (0, FRAME), (1, 0), (1, 10), (0, FRAME), (0, 7232)]);
    }

    #[test]
    fn a_frame_has_its_place_only_once_the_stream_is_there() {
        let mut answers = Answers::framed(0, 0);
        let all = (0..100).map(|object| answers.add(object, (80, 40_000), SHARED, 0)).last();
        assert_eq!((answers.placed.len(), answers.placed_to), (1, 89));
        assert_eq!(all, Some(100 * (80 + 40_000 + 4 * 9)));
        assert_eq!(order(&answers).len(), 400);
        // What was sent has its place, and one of the waiting answers is taken back.
        answers.add(100, (80, 10), WHOLE, 90);
        assert_eq!(order(&answers)[..4], [(0, 0), (1, 0), (100, 0), (100, 10)]);
        assert_eq!(answers.placed.len(), 2);
    }

    #[test]
    fn first_and_last_bytes_arrive_in_the_order_of_the_stream() {
        let mut answers = Answers::framed(0, 10);
        let end = answers.add(7, (80, 20_000), WHOLE, 10);
        // The frame with the header: nothing of it before its end.
        let header_end = 10 + 80 + 9;
        assert_eq!(answers.next_offset(), Some(header_end));
        assert_eq!(answers.take_arrived(header_end - 1), None);
        assert_eq!(answers.take_arrived(header_end), Some(Arrived::First(7)));
        assert_eq!(answers.take_arrived(end - 1), None);
        assert_eq!(answers.take_arrived(end), Some(Arrived::Last(7)));
        assert_eq!(answers.next_offset(), None);
        // The stream goes on where it has ended.
        assert_eq!(answers.add(8, (80, 10), WHOLE, end), end + 80 + 10 + 2 * 9);
    }
}
