//! Variants of slow start: growth and end. A controller that offers a choice has a [`SlowStart`],
//! passes each ACK to it, and lets it grow the window.
//!
//! - `standard`: RFC 5681, until a loss or ssthresh,
//! - `hystart`: the same growth, ended by signs of a queue,
//! - `hystart++`: RFC 9406, ended by a longer RTT that lasts,
//! - `search`: growth by all that is acknowledged, ended by a delivery that no longer doubles.

mod hystart;
mod hystart_plus_plus;
mod search;

use units::{Span, Time};

use crate::events::{Ack, Feedback, Needs};
use crate::parameters::{Allowed, Parameter};
use crate::window::Window;

use hystart::HyStart;
use hystart_plus_plus::HyStartPlusPlus;
use search::Search;

/// The parameter by which a scenario chooses.
pub(crate) const PARAMETER: Parameter = Parameter {
    name: "slow_start",
    default: "hystart++",
    allowed: Allowed::OneOf(&["standard", "hystart", "hystart++", "search"]),
    meaning: "How slow start ends: with a loss; with signs of a queue, as in Linux; with a longer \
              RTT that lasts (RFC 9406); or with a delivery that no longer doubles \
              (draft-chung-ccwg-search)",
};

/// One of the slow starts.
#[derive(Clone, Debug)]
pub(crate) enum SlowStart {
    Standard,
    HyStart(HyStart),
    PlusPlus(HyStartPlusPlus),
    Search(Search),
}

impl SlowStart {
    /// The slow start that [`PARAMETER`] names.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "hystart" => Self::HyStart(HyStart::default()),
            "hystart++" => Self::PlusPlus(HyStartPlusPlus::default()),
            "search" => Self::Search(Search::default()),
            _ => Self::Standard,
        }
    }

    /// HyStart that allows ACKs to wait for so long at the receiver's interface.
    pub(crate) fn hystart_with(ack_delay: Span) -> Self {
        Self::HyStart(HyStart::with(ack_delay))
    }

    /// The same in a round that begins now, and ends when more than this position is acknowledged.
    pub(crate) fn hystart_from(ack_delay: Span, began: Time, end: u64) -> Self {
        Self::HyStart(HyStart::beginning(ack_delay, began, end))
    }

    /// Events that it needs.
    pub(crate) fn needs(&self) -> Needs {
        Needs { feedback: !matches!(self, Self::Standard), ..Needs::default() }
    }

    /// An ACK arrived: may end slow start.
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        let ends = window.in_slow_start()
            && match self {
                Self::Standard => false,
                Self::HyStart(hystart) => hystart.ends(feedback, window),
                Self::PlusPlus(hystart) => hystart.ends(feedback),
                Self::Search(search) => search.ends(feedback),
            };
        if ends {
            window.ssthresh = window.cwnd;
        }
    }

    /// Grows the window; called below ssthresh.
    pub(crate) fn grow(&self, ack: &Ack, window: &mut Window) {
        window.cwnd += match self {
            Self::Standard | Self::HyStart(_) => window.counted(ack.acked),
            Self::Search(_) => ack.acked,
            Self::PlusPlus(hystart) => hystart.growth(ack.acked, window),
        };
    }

    /// The window was not used, and what is delivered says nothing about the path.
    pub(crate) fn on_unused_window(&mut self) {
        if let Self::Search(search) = self {
            search.reset();
        }
    }

    /// A loss or a mark was found.
    pub(crate) fn on_loss(&mut self) {
        match self {
            Self::PlusPlus(hystart) => hystart.finish(),
            Self::Search(search) => search.reset(),
            Self::Standard | Self::HyStart(_) => {}
        }
    }

    /// The retransmission timer expired.
    pub(crate) fn on_timeout(&mut self) {
        match self {
            Self::Standard => {}
            Self::HyStart(hystart) => hystart.reset(),
            Self::PlusPlus(hystart) => hystart.finish(),
            Self::Search(search) => search.reset(),
        }
    }
}
