//! Jitter before a run: mean, standard deviation and quantiles of the delay.

use link::{Jitter, Variation};
use serde_json::json;
use units::Span;

use super::{Mechanism, Side};
use crate::settings::{Amount, Setting};
use crate::text::short;
use crate::warnings::WarningKind as Kind;

/// Share of packets without a delay above which there is a warning.
const FEW: f64 = 0.01;

/// Random delay of packets.
pub(crate) const MECHANISM: Mechanism = Mechanism {
    key: "jitter",
    heading: "Jitter",
    value: |side| Some(value(&side.direction().jitter)),
    details: |side| match &side.direction().jitter {
        Jitter::UpTo(_) => Vec::new(),
        Jitter::Around(around) => details(side, around),
    },
    warnings: |side| {
        let clamped = clamped(side).map(|text| (Kind::JitterAboveDelay, text));
        clamped.into_iter().collect()
    },
};

fn value(jitter: &Jitter) -> (Amount, String) {
    match jitter {
        Jitter::UpTo(Span::ZERO) => (Span::ZERO.into(), "none".into()),
        Jitter::UpTo(most) => ((*most).into(), format!("up to {most}")),
        Jitter::Around(Variation { variation, distribution, correlation, reorder }) => {
            let data = json!({
                "variation_s": variation.as_secs_f64(),
                "distribution": distribution.name(),
                "correlation": correlation,
                "reorder": reorder,
            });
            (Amount::plain(data), format!("{} {variation}", distribution.name()))
        }
    }
}

/// The delay of the direction with this jitter, in milliseconds.
fn milliseconds(delay: Span, around: &Variation, variations: f64) -> f64 {
    (delay.as_millis_f64() + around.variation.as_millis_f64() * variations).max(0.0)
}

fn details(side: &Side<'_>, around: &Variation) -> Vec<Setting> {
    let delay = side.direction().delay;
    let Variation { variation, distribution, correlation, reorder } = around;
    let (mean, deviation) = distribution.moments();
    let deviation = variation.as_secs_f64() * deviation;
    let quantile = |share: f64| milliseconds(delay, around, distribution.quantile(share));
    let [low, high, most] = [0.01, 0.99, 1.0].map(quantile);
    let range = format!(
        "{} around {}ms: 98 % from {}ms to {}ms, at most {}ms",
        distribution.name(),
        short(milliseconds(delay, around, mean), 2),
        short(low, 2),
        short(high, 2),
        short(most, 2),
    );
    let range_data = json!({ "p1_s": low / 1e3, "p99_s": high / 1e3, "max_s": most / 1e3 });
    let order = match reorder {
        true => "packets overtake those with a longer delay",
        false => "packets keep their order",
    };
    vec![
        Setting::new(
            "distribution",
            Amount::plain(range_data),
            range,
            side.is_written("jitter.distribution"),
        ),
        Setting::new(
            "standard_deviation",
            Span::from_secs_f64(deviation).into(),
            format!("{}ms", short(deviation * 1e3, 2)),
            true,
        ),
        Setting::new(
            "correlation",
            (*correlation).into(),
            format!("{correlation} from packet to packet"),
            side.is_written("jitter.correlation"),
        ),
        Setting::new("reorder", Amount::plain(*reorder), order, side.is_written("jitter.reorder")),
    ]
}

/// A share of packets that would arrive before they leave.
fn clamped(side: &Side<'_>) -> Option<String> {
    let Jitter::Around(around) = &side.direction().jitter else { return None };
    let delay = side.direction().delay;
    let limit = -delay.as_secs_f64() / around.variation.as_secs_f64();
    let share = around.distribution.share_below(limit);
    (share > FEW).then(|| {
        format!(
            "{:.0} % of the packets have no delay, because it would be negative: {} {} around a delay of {delay}",
            100.0 * share,
            around.distribution.name(),
            around.variation,
        )
    })
}
