//! `$name`: a congestion controller of one's own.
//!
//! ```sh
//! cargo test          # the tests of this file
//! bentpipe wheel .    # a wheel of Bentpipe with this controller
//! ```
//!
//! Describe the algorithm here: its source, its equations, and what the source does not define.

use congestion::{
    Ack, Allowed, Controller, Entry, Listed, Loss, NameTaken, Parameter, Repair, Settings, Status,
    TcpPolicy, Values, Window,
};

/// NewReno, which keeps more of its window after a loss while the queue is short.
#[derive(Debug)]
pub struct $struct_name {
    window: Window,
    kept: f64,
    /// Share of the smoothed RTT that is queueing delay, from 0 to 1.
    queueing: f64,
}

/// Name, description and parameters, for scenarios and `bentpipe controllers`.
impl Listed for $struct_name {
    const LISTED: &'static [Entry] = &[Entry {
        name: "$name",
        summary: "NewReno that keeps more of its window after a loss while the queue is short",
        source: "unpublished",
        status: Status::Experimental,
        repair: Repair::PartialAcks,
        parameters: &[Parameter {
            name: "kept",
            default: "0.8",
            allowed: Allowed::Range(0.1, 0.9),
            meaning: "Share of the flight size that ssthresh becomes while the queue is short",
        }],
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            kept: values.number("kept"),
            queueing: 0.0,
        }
    }
}

/// Every method has a default, which is standard TCP (RFC 5681, RFC 6582). Override what differs.
/// `congestion::standard` has the defaults as functions.
impl Controller for $struct_name {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let (Some(srtt), Some(min_rtt)) = (ack.srtt, ack.min_rtt) {
            self.queueing = 1.0 - min_rtt.as_secs_f64() / srtt.as_secs_f64();
        }
        congestion::standard::on_ack(self, ack);
    }

    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        if self.queueing < 0.1 {
            return ((loss.flight as f64 * self.kept) as u64).max(2 * self.window.mss);
        }
        congestion::standard::threshold_after_loss(self, loss)
    }
}

/// Decisions that only TCP takes, such as another duplicate threshold. All have defaults.
impl TcpPolicy for $struct_name {}

/// Makes the controller known by its name. The wheel calls this when it is imported.
pub fn register() -> Result<(), NameTaken> {
    congestion::register::<$struct_name>()
}

#[cfg(test)]
mod tests {
    use congestion::Specification;
    use units::Time;

    use super::*;

    #[test]
    fn a_loss_without_a_queue_leaves_four_fifths() {
        register().expect("a name that no other controller has");
        let settings = Settings {
            mss: 1000,
            initial_window: 100_000,
            initial_ssthresh: 200_000,
            byte_counting: 1,
        };
        let specification = Specification::named("$name").expect("it is registered");
        let mut controller = specification.build(&settings);
        controller.on_loss(&Loss {
            now: Time::ZERO,
            flight: 50_000,
            repeated: false,
        });
        assert_eq!(controller.window().cwnd, 40_000);
    }
}
