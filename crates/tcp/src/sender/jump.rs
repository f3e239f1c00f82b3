//! A window larger than the controller would have at the start: from an earlier connection (Careful
//! Resume), or approved by routers (Quick-Start). A connection has one of them at most.

use congestion::Window;
use transport::{CarefulResume, QuickStart};
use units::Time;

use crate::config::Config;

/// Overrides the controller's window for the first round trips.
#[derive(Clone, Debug)]
pub(super) enum Jump {
    Resume(CarefulResume),
    QuickStart(QuickStart),
}

impl Jump {
    pub(super) fn of(config: &Config) -> Option<Self> {
        let resume = config.careful_resume.map(|saved| Self::Resume(CarefulResume::new(saved)));
        resume.or_else(|| Some(Self::QuickStart(QuickStart::new(config.quick_start?))))
    }

    /// New data is about to leave, up to `sent`; `flight` bytes are in the network with it.
    pub(super) fn before_sending(
        &mut self,
        now: Time,
        flight: u64,
        sent: u64,
        window: &mut Window,
    ) {
        match self {
            Self::Resume(resume) => resume.on_sent(flight, sent, window),
            Self::QuickStart(quick) => quick.before_sending(now, sent, window),
        }
    }

    /// The controller has answered an ACK.
    pub(super) fn after_ack(&self, window: &mut Window) {
        match self {
            Self::Resume(resume) => resume.after_ack(window),
            Self::QuickStart(quick) => quick.after_ack(window),
        }
    }

    /// A loss or a mark was found, and the controller has answered it.
    pub(super) fn on_loss(&mut self, window: &mut Window) {
        match self {
            Self::Resume(resume) => resume.on_loss(window),
            Self::QuickStart(quick) => quick.on_loss(window),
        }
    }

    /// The retransmission timer expired, and the controller has answered it.
    pub(super) fn on_timeout(&mut self, window: &mut Window) {
        match self {
            Self::Resume(resume) => resume.on_timeout(),
            Self::QuickStart(quick) => quick.on_timeout(window),
        }
    }

    /// The rate, in payload bytes per second, at which the larger window leaves.
    pub(super) fn pacing_rate(&self) -> Option<f64> {
        match self {
            Self::Resume(resume) => resume.pacing_rate(),
            Self::QuickStart(quick) => quick.pacing_rate(),
        }
    }
}
