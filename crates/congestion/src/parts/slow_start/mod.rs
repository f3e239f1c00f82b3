//! Variants of slow start: growth and end. A controller that offers a choice has a [`SlowStart`],
//! passes each ACK to it, and lets it grow the window.
//!
//! - `standard`: RFC 5681, until a loss or ssthresh,
//! - `hystart`: the same growth, ended by signs of a queue,
//! - `hystart++`: RFC 9406, ended by a longer RTT that lasts.

mod hystart;
mod hystart_plus_plus;

use crate::events::{Ack, Feedback, Needs};
use crate::parameters::{Allowed, Parameter};
use crate::window::Window;

use hystart::HyStart;
use hystart_plus_plus::HyStartPlusPlus;

/// The parameter by which a scenario chooses.
pub(crate) const PARAMETER: Parameter = Parameter {
    name: "slow_start",
    default: "hystart++",
    allowed: Allowed::OneOf(&["standard", "hystart", "hystart++"]),
    meaning: "How slow start ends: with a loss; with signs of a queue, as in Linux; or with a \
              longer RTT that lasts (RFC 9406)",
};

/// One of the slow starts.
#[derive(Clone, Debug)]
pub(crate) enum SlowStart {
    Standard,
    HyStart(HyStart),
    PlusPlus(HyStartPlusPlus),
}

impl SlowStart {
    /// The slow start that [`PARAMETER`] names.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "hystart" => Self::HyStart(HyStart::default()),
            "hystart++" => Self::PlusPlus(HyStartPlusPlus::default()),
            _ => Self::Standard,
        }
    }

    /// What it needs to be told.
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
            };
        if ends {
            window.ssthresh = window.cwnd;
        }
    }

    /// Grows the window; called below ssthresh.
    pub(crate) fn grow(&self, ack: &Ack, window: &mut Window) {
        window.cwnd += match self {
            Self::Standard | Self::HyStart(_) => window.counted(ack.acked),
            Self::PlusPlus(hystart) => hystart.growth(ack.acked, window),
        };
    }

    /// A loss or a mark was found.
    pub(crate) fn on_loss(&mut self) {
        match self {
            Self::PlusPlus(hystart) => hystart.finish(),
            Self::Standard | Self::HyStart(_) => {}
        }
    }

    /// The retransmission timer expired.
    pub(crate) fn on_timeout(&mut self) {
        match self {
            Self::Standard => {}
            Self::HyStart(hystart) => *hystart = HyStart::default(),
            Self::PlusPlus(hystart) => hystart.finish(),
        }
    }
}
