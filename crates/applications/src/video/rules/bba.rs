//! BBA-0: the bit rate is a linear function of the buffer between a reservoir and a cushion. T.-Y.
//! Huang et al., "A buffer-based approach to rate adaptation", SIGCOMM 2014; the constants and the
//! steps of the function are those of Pensieve (`bb.py`).

use super::{Choice, Rules, View};

/// Buffer below which the lowest bit rate is chosen, in milliseconds.
const RESERVOIR: f64 = 5000.0;
/// Buffer above it at which the highest one is.
const CUSHION: f64 = 10_000.0;

/// The rule.
#[derive(Clone, Copy, Debug)]
pub(in crate::video) struct Bba;

impl Rules for Bba {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let above = (view.level - RESERVOIR) / CUSHION;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to the length of the ladder"
        )]
        let place = (view.top() as f64 * above.clamp(0.0, 1.0)).floor() as usize;
        Choice::now(place)
    }
}
