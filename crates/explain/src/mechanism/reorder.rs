//! Random reordering and duplication before a run: the share of packets.

use link::{Duplication, Reordering};
use serde_json::{Value as Json, json};

use super::Mechanism;
use crate::settings::{Amount, Setting};
use crate::text::short;
use crate::warnings::WarningKind as Kind;

/// Packets that overtake others.
pub(crate) const REORDER: Mechanism = Mechanism {
    key: "reorder",
    heading: "Reordering",
    value: |side| {
        let direction = side.direction();
        Some(match direction.reordering {
            None => (Amount::plain(direction.reorder), direction.reorder.to_string()),
            Some(Reordering { probability, correlation, gap }) => {
                let data =
                    json!({ "probability": probability, "correlation": correlation, "gap": gap });
                (Amount::plain(data), format!("{} at once", percent(probability)))
            }
        })
    },
    details: |side| {
        let Some(reordering) = side.direction().reordering else { return Vec::new() };
        let Reordering { probability, correlation, gap } = reordering;
        let text = format!(
            "{} of the packets are sent at once and overtake those that take the delay of {}",
            percent(reordering.share()),
            side.direction().delay
        );
        let every = match gap {
            1 => "each packet may be one".to_owned(),
            gap => format!("at most one of {gap} packets"),
        };
        vec![
            Setting::new("share", reordering.share().into(), text, true),
            of_probability(probability),
            of_correlation(correlation, probability, side.is_written("reorder.correlation")),
            Setting::new("gap", Amount::plain(gap), every, side.is_written("reorder.gap")),
        ]
    },
    warnings: |side| {
        let of = |one: Reordering| {
            let share = Reordering { gap: 1, ..one }.share();
            another_share(share, one.probability, "are sent at once")
        };
        side.direction().reordering.and_then(of).into_iter().collect()
    },
};

/// Packets that arrive twice.
pub(crate) const DUPLICATE: Mechanism = Mechanism {
    key: "duplicate",
    heading: "Duplication",
    value: |side| {
        let duplication = side.direction().duplication;
        let data = |one: Duplication| json!({ "probability": one.probability, "correlation": one.correlation });
        let text = duplication.map_or("none".into(), |one| percent(one.probability));
        Some((Amount::plain(duplication.map_or(Json::Null, data)), text))
    },
    details: |side| {
        let Some(duplication) = side.direction().duplication else { return Vec::new() };
        let Duplication { probability, correlation } = duplication;
        let share = percent(duplication.share());
        let text = format!("{share} of the packets that arrive do so twice");
        vec![
            Setting::new("share", duplication.share().into(), text, true),
            of_probability(probability),
            of_correlation(correlation, probability, side.is_written("duplicate.correlation")),
        ]
    },
    warnings: |side| {
        let of = |one: Duplication| another_share(one.share(), one.probability, "arrive twice");
        side.direction().duplication.and_then(of).into_iter().collect()
    },
};

fn of_probability(probability: f64) -> Setting {
    Setting::new("probability", probability.into(), percent(probability), true)
}

/// The correlation of the numbers that are compared with `probability`.
pub(crate) fn of_correlation(correlation: f64, probability: f64, written: bool) -> Setting {
    let changed = match correlation > 0.0 {
        true => format!(", which makes the share another than {}", percent(probability)),
        false => String::new(),
    };
    let text = format!("{correlation} of the random numbers{changed}");
    Setting::new("correlation", correlation.into(), text, written)
}

/// A share that a correlation makes much smaller or larger than `probability`; `happens` is about
/// the packets.
pub(crate) fn another_share(share: f64, probability: f64, happens: &str) -> Option<(Kind, String)> {
    ((share / probability - 1.0).abs() > 0.1).then(|| {
        let text = format!(
            "with the correlation of netem, {} and not {} of the packets {happens}",
            percent(share),
            percent(probability)
        );
        (Kind::CorrelationChangesShare, text)
    })
}

/// A share in per cent, with the digits that a small one has.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 0.01 || percent == 0.0 => format!("{} %", short(percent, 3)),
        percent => format!("{percent:.2e} %"),
    }
}
