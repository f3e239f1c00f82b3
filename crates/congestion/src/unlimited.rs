//! No congestion control: the window is never what limits the sender.
//!
//! Source: the reference implementation of SCPS-TP, congestion control 0, in which only the rate of
//! the route and the window of the receiver bound the sender. It is for transports that have such a
//! rate. So it is not in the list of controllers, and a scenario names it `"none"`.

use crate::any::AnyController;
use crate::controller::Controller;
use crate::entry::{Entry, Repair, Status};
use crate::events::{Ack, Loss, PartialAck};
use crate::parts::linux::ORIGINAL;
use crate::registry::Registered;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

/// As large as the largest receive buffer.
const WINDOW: u64 = 1 << 30;

const ENTRY: Entry = Entry {
    name: "none",
    summary: "no congestion control: the rate of the transport and the window of the receiver bound the sender",
    source: "CCSDS 714.0-B",
    status: Status::Implementation("reference implementation of SCPS-TP, congestion control 0"),
    repair: Repair::SelectiveAcks,
    parameters: &[],
};

pub(crate) static REGISTERED: Registered = Registered {
    entry: &ENTRY,
    variant: ORIGINAL,
    need: None,
    ordered: &[],
    build: |settings, _| AnyController::External(Box::new(Unlimited::new(settings))),
};

/// A window that nothing changes.
#[derive(Clone, Debug)]
struct Unlimited {
    window: Window,
}

impl Unlimited {
    fn new(settings: &Settings) -> Self {
        Self { window: Window::new(&Settings { initial_window: WINDOW, ..*settings }) }
    }

    fn open(&mut self) {
        self.window.cwnd = WINDOW;
    }
}

impl Controller for Unlimited {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, _ack: &Ack) {
        self.open();
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_congestion_mark(&mut self, _loss: &Loss) {}

    fn on_partial_ack(&mut self, _partial: &PartialAck) {}

    fn on_recovery_exit(&mut self, _now: units::Time) {}

    fn on_timeout(&mut self, _loss: &Loss) {}

    fn on_idle(&mut self) {}
}

impl TcpPolicy for Unlimited {}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;
    use crate::specification::Specification;

    #[test]
    fn nothing_changes_the_window() {
        let settings = Settings {
            mss: 1460,
            initial_window: 14_600,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let mut controller = Specification::unlimited().build(&settings);
        let loss = Loss { now: Time::ZERO, flight: 10_000, repeated: false };
        controller.on_loss(&loss);
        controller.on_timeout(&loss);
        controller.on_congestion_mark(&loss);
        controller.on_recovery_exit(Time::ZERO);
        controller.on_idle();
        assert_eq!(controller.window().cwnd, WINDOW);
    }
}
