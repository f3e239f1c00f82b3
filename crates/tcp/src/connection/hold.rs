//! SYNs that wait for a decision: a gateway that splits connections answers when the server has
//! answered, or not at all. Linux has this by a queue of its packet filter in front of the
//! listener.
//!
//! Of the SYNs that arrive meanwhile, the first is kept and the others are dropped. So the
//! timestamp that is echoed is that of the first, and the client's first RTT sample is the time
//! that it has waited.

use transport::Endpoint;

use crate::segment::Segment;

use super::Connection;

/// A listener that holds SYNs back.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// The first one.
    syn: Option<Segment>,
    /// It was marked on its way.
    was_marked: bool,
}

impl Hold {
    /// Keeps a SYN, if it is the first.
    pub(super) fn keep(&mut self, segment: &Segment, was_marked: bool) {
        if self.syn.is_none() {
            self.syn = Some(*segment);
            self.was_marked = was_marked;
        }
    }
}

impl Connection {
    /// Passive open that answers no SYN before [`answer`](Self::answer).
    pub fn listen_on_hold(&mut self) {
        self.listen();
        self.opening.hold = Some(Box::default());
    }

    /// The SYN that waits for an answer.
    pub fn held_syn(&self) -> Option<&Segment> {
        self.opening.hold.as_ref()?.syn.as_ref()
    }

    /// Answers the SYN that waits, and those that arrive from now on.
    pub fn answer(&mut self) {
        let Some(Hold { syn: Some(syn), was_marked }) = self.opening.hold.take().map(|hold| *hold)
        else {
            return;
        };
        if let Some(marks) = &mut self.marks {
            marks.arrived_marked = was_marked;
        }
        self.answer_syn(&syn);
        if let Some(marks) = &mut self.marks {
            marks.arrived_marked = false;
        }
    }

    /// Refuses the SYN that waits as a host without a listener does, and those that arrive from now
    /// on.
    pub fn turn_away(&mut self) {
        let hold = self.opening.hold.take();
        self.abort();
        if let Some(Hold { syn: Some(syn), .. }) = hold.map(|hold| *hold) {
            self.refuse(&syn);
        }
    }
}
