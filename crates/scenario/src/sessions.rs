//! The sessions of an application in a run: a pure function of their settings, the seed and the
//! number of the flow. So all controllers meet the same sessions with one seed, and adding a copy
//! of a flow behind the others moves no session of these.

use applications::sessions::{Plan, Session, Settings};
use link::{Purpose, Seed, exponential};
use units::Span;

/// The sessions of a flow, drawn when they are needed. They have no end.
#[derive(Clone, Debug)]
pub struct Sessions {
    plan: Plan,
    seed: Seed,
    flow: u64,
}

impl Sessions {
    /// The sessions of flow number `flow`, which starts at `start`, in a run with `seed`.
    pub fn new(settings: Settings, seed: Seed, flow: u32, start: Span) -> Self {
        Self { plan: Plan::new(settings, start), seed, flow: flow.into() }
    }

    /// The next session.
    pub fn draw(&mut self) -> Session {
        // Each session has a stream of its own, so nothing is kept between them.
        let entity = (self.flow << 32) | self.plan.number();
        let mut random = self.seed.stream(Purpose::Sessions, entity);
        self.plan.draw([exponential(&mut random), exponential(&mut random)])
    }
}

#[cfg(test)]
mod tests {
    use applications::sessions::Distribution;

    use super::*;

    fn sessions(seed: u64, flow: u32) -> Vec<Session> {
        let (pause, length) = (Span::from_secs(300), Span::from_secs(60));
        let settings = Settings { pause, length, distribution: Distribution::Exponential };
        let mut all = Sessions::new(settings, Seed::new(seed), flow, Span::ZERO);
        (0..4000).map(|_| all.draw()).collect()
    }

    #[test]
    fn sessions_depend_on_seed_and_flow_only_and_have_the_means_of_their_settings() {
        let found = sessions(1, 0);
        assert_eq!(found, sessions(1, 0));
        assert_ne!(found, sessions(2, 0));
        assert_ne!(found, sessions(1, 1));
        assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].begin));
        let lengths = found.iter().map(|one| one.end.saturating_sub(one.begin).as_secs_f64());
        let mean = lengths.sum::<f64>() / found.len() as f64;
        // The standard error is 1.6 % of the mean.
        assert!((mean / 60.0 - 1.0).abs() < 0.05, "{mean}");
        let last = found[found.len() - 1].end.as_secs_f64();
        assert!((last / (4000.0 * 360.0) - 1.0).abs() < 0.05, "{last}");
    }
}
