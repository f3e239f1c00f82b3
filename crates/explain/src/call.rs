//! Calls before a run: the best opinion that the delay of the path allows.

use applications::call::JitterBuffer;
use applications::call::emodel::{Conditions, mos, rating};
use scenario::model::{Flow, Traffic};

use super::figures::Figures;

/// MOS that the Connect America Fund of the US demands of satellite operators (DA 18-710).
const TARGET: f64 = 4.0;

/// The delay alone keeps the opinion below the target.
pub(crate) fn long_delay(flow: &Flow, figures: &Figures) -> Option<String> {
    let Traffic::Call(call) = &flow.traffic else { return None };
    let (equipment, robustness) = call.impairment()?;
    let buffer = match call.jitter_buffer {
        JitterBuffer::Fixed(depth) => depth.as_millis_f64(),
        JitterBuffer::TwiceJitter(_) => 0.0,
    };
    let delay_ms = figures.bounds.least_way_ms + buffer + call.delay().as_millis_f64();
    let best = |has_echo| {
        mos(rating(&Conditions {
            delay_ms,
            loss_percent: 0.0,
            burst_ratio: 1.0,
            equipment,
            robustness,
            has_echo,
        }))
    };
    let (with_echo, without) = (best(true), best(false));
    (with_echo < TARGET).then(|| {
        format!(
            "speech takes at least {delay_ms:.0}ms from mouth to ear, path, jitter buffer and codec: MOS is at most {with_echo:.2} with the default echo and {without:.2} without"
        )
    })
}
