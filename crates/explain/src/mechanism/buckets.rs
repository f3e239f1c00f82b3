//! Token buckets before a run: the lasting rate, how long a burst lasts, and where they do not fit
//! the path.

use link::{Peak, TokenBucket};
use serde_json::{Value as Json, json};

use super::arq::longest_packet;
use super::{Mechanism, Side};
use crate::settings::{Amount, Setting};
use crate::text::{bytes, rate, short};
use crate::warnings::WarningKind as Kind;
use scenario::model::Direction;
use scenario::rates::framed;

/// The shaper.
pub(crate) const SHAPER: Mechanism = Mechanism {
    key: "shaper",
    heading: "Shaper",
    value: |side| Some(value(side.direction().shaper)),
    details: |side| details(side, side.direction().shaper),
    warnings: |side| {
        let text = without_effect(side.direction(), side.direction().shaper);
        text.map(|text| (Kind::ShaperWithoutEffect, text)).into_iter().collect()
    },
};

/// The policer.
pub(crate) const POLICER: Mechanism = Mechanism {
    key: "policer",
    heading: "Policer",
    value: |side| Some(value(side.direction().policer)),
    details: |side| details(side, side.direction().policer),
    warnings: |side| {
        let found = [
            (
                Kind::PolicerWithoutEffect,
                without_effect(side.direction(), side.direction().policer),
            ),
            (Kind::PolicerBelowBdp, below_bdp(side)),
        ];
        found.into_iter().filter_map(|(kind, text)| Some((kind, text?))).collect()
    },
};

fn value(bucket: Option<TokenBucket>) -> (Amount, String) {
    let Some(TokenBucket { rate, burst, peak }) = bucket else {
        return (Amount::plain(Json::Null), "none".into());
    };
    let data = |Peak { rate, burst }| json!({ "rate": rate, "burst": burst });
    let of_peak = peak.map_or(String::new(), |Peak { rate, burst }| {
        format!(", peak {rate} with a burst of {burst}")
    });
    let json = json!({ "rate": rate, "burst": burst, "peak": peak.map(data) });
    (Amount::plain(json), format!("{rate} with a burst of {burst}{of_peak}"))
}

/// Bits per second at which a burst passes.
fn burst_rate(direction: &Direction, bucket: &TokenBucket) -> f64 {
    let line = direction.rate.bits_per_second() as f64;
    bucket.peak.map_or(line, |peak| line.min(peak.rate.bits_per_second() as f64))
}

fn details(side: &Side<'_>, bucket: Option<TokenBucket>) -> Vec<Setting> {
    let direction = side.direction();
    let Some(bucket) = bucket else { return Vec::new() };
    let packet = f64::from(longest_packet(side.scenario));
    let tokens = bucket.rate.bits_per_second() as f64;
    let lasting = tokens * packet / framed(direction, packet);
    let setting =
        |name: &str, value: f64, text: String| Setting::new(name, Amount::from(value), text, true);
    let mut settings = vec![setting(
        "lasting rate",
        lasting,
        format!("{} of IP packets, from {} on the line", rate(lasting), rate(tokens)),
    )];
    let (fast, burst) = (burst_rate(direction, &bucket), bucket.burst.get() as f64);
    if fast > tokens {
        // Tokens arrive while it passes.
        let seconds = burst * 8.0 / (fast - tokens);
        let text = format!(
            "after a pause of {}s, {} pass at {} in {}ms",
            short(burst * 8.0 / tokens, 3),
            bytes((seconds * fast / 8.0).round()),
            rate(fast),
            short(seconds * 1e3, 2)
        );
        settings.push(setting("burst", seconds, text));
    }
    settings
}

/// A bucket that is always full.
fn without_effect(direction: &Direction, bucket: Option<TokenBucket>) -> Option<String> {
    let bucket = bucket?;
    let fastest =
        direction.changes().filter_map(|change| change.rate).fold(direction.rate, Ord::max);
    (bucket.rate >= fastest).then(|| {
        format!(
            "its rate of {} is not below that of the line, {fastest}: it does nothing",
            bucket.rate
        )
    })
}

/// A policer whose burst is below what TCP sends before it hears of a loss.
fn below_bdp(side: &Side<'_>) -> Option<String> {
    let bucket = side.direction().policer?;
    let tokens = bucket.rate.bits_per_second() as f64;
    let burst = bucket.burst.get() as f64;
    let (explained, _) = side.with_data().find(|(explained, flow)| {
        let bdp = tokens * explained.figures.base_rtt_ms / 8e3;
        flow.transport.tcp().is_some() && burst < bdp
    })?;
    let rtt = explained.figures.base_rtt_ms / 1e3;
    // A window is a burst, and Reno has 3/4 of the largest on average; see the page of the policer.
    let mean = 0.75 * burst * 8.0 / rtt;
    Some(format!(
        "a burst of {} is below the BDP at the rate of its tokens, {}: a window that comes at once is cut, and \
         Reno without pacing gets about {} of {}",
        bucket.burst,
        bytes((tokens * rtt / 8.0).round()),
        rate(mean.min(tokens)),
        rate(tokens)
    ))
}
