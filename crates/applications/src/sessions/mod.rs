//! Sessions of an application: when it begins, and when it begins nothing new.

use units::Span;

/// The distribution of pauses and lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "lowercase"), schemars(inline))]
pub enum Distribution {
    /// Exponential, with a pause before the first session too.
    #[default]
    Exponential,
    /// Always the mean. The first session begins at `start`.
    Constant,
}

/// Sessions of an application, which begins and ends again and again by drawn times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(deny_unknown_fields), schemars(inline))]
pub struct Settings {
    /// Mean time from the end of a session to the start of the next one.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "10ms", "x-maximum" = "87600h")))]
    pub pause: Span,
    /// Mean time after which the application of a session begins nothing new. What it has begun is
    /// completed, and delays the next session, which keeps its length.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "10ms", "x-maximum" = "87600h")))]
    pub length: Span,
    /// Distribution of both times. With `"exponential"`, there is a pause before the first session;
    /// with `"constant"`, the first session begins at `start`.
    #[cfg_attr(feature = "schema", serde(default))]
    pub distribution: Distribution,
}

/// A session, in times since the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// When it begins.
    pub begin: Span,
    /// When it begins nothing new.
    pub end: Span,
}

/// The sessions of one application, drawn one after the other. It draws the next one when that is
/// needed, so sessions that have not begun cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    settings: Settings,
    number: u64,
    /// The end of the session before, or the start of the flow.
    free_from: Span,
}

impl Plan {
    /// The sessions of an application that starts at `start`.
    pub fn new(settings: Settings, start: Span) -> Self {
        Self { settings, number: 0, free_from: start }
    }

    /// Number of the next session.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next session: `factors` multiply the mean pause and the mean length, where they are
    /// drawn. Both have a mean of 1.
    pub fn draw(&mut self, [pause, length]: [f64; 2]) -> Session {
        let Settings { pause: mean_pause, length: mean_length, distribution } = self.settings;
        let (pause, length) = match distribution {
            Distribution::Exponential => (scaled(mean_pause, pause), scaled(mean_length, length)),
            Distribution::Constant if self.number == 0 => (Span::ZERO, mean_length),
            Distribution::Constant => (mean_pause, mean_length),
        };
        let begin = self.free_from + pause;
        let end = begin + length;
        self.number += 1;
        self.free_from = end;
        Session { begin, end }
    }
}

fn scaled(mean: Span, factor: f64) -> Span {
    Span::from_secs_f64(mean.as_secs_f64() * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(distribution: Distribution) -> Settings {
        Settings { pause: Span::from_secs(10), length: Span::from_secs(4), distribution }
    }

    #[test]
    fn constant_sessions_begin_at_the_start_and_repeat() {
        let mut plan = Plan::new(settings(Distribution::Constant), Span::from_secs(3));
        let seconds = |session: Session| (session.begin.as_secs_f64(), session.end.as_secs_f64());
        assert_eq!(seconds(plan.draw([9.0, 9.0])), (3.0, 7.0));
        assert_eq!(seconds(plan.draw([9.0, 9.0])), (17.0, 21.0));
    }

    #[test]
    fn drawn_sessions_follow_one_another() {
        let mut plan = Plan::new(settings(Distribution::Exponential), Span::ZERO);
        let first = plan.draw([0.5, 2.0]);
        assert_eq!((first.begin, first.end), (Span::from_secs(5), Span::from_secs(13)));
        let second = plan.draw([1.0, 0.25]);
        assert_eq!((second.begin, second.end), (Span::from_secs(23), Span::from_secs(24)));
        assert_eq!(plan.number(), 2);
    }
}
