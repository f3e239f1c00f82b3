//! Warnings about active queue management that does not fit the path.

use units::Span;

use super::{Mechanism, Side};
use crate::figures::Figures;
use crate::settings::{Amount, with_parameters};
use crate::warnings::WarningKind as Kind;
use scenario::model::{Aqm, Direction, QueueLimit};

/// Bytes of a full packet, for limits in packets.
const PACKET: f64 = 1500.0;
/// Ratio to the RTT that its parameters are made for, from which a path has another time scale.
const OTHER_SCALE: f64 = 2.0;
/// RTT in milliseconds for which RFC 8033 chose alpha and beta of PIE.
const PIE_RTT_MS: f64 = 100.0;

/// Active queue management.
pub(crate) const MECHANISM: Mechanism =
    Mechanism { key: "aqm", value, warnings, ..Mechanism::PLAIN };

fn value(side: &Side<'_>) -> Option<(Amount, String)> {
    let data = |aqm: Aqm| (aqm.name(), serde_json::to_value(aqm).unwrap_or_default());
    Some(with_parameters(side.direction().aqm.map(data)))
}

fn warnings(side: &Side<'_>) -> Vec<(Kind, String)> {
    let Some(aqm) = side.direction().aqm else { return Vec::new() };
    let figures = side.with_data().map(|(explained, _)| &explained.figures);
    let slow = figures.max_by(|a, b| a.base_rtt_ms.total_cmp(&b.base_rtt_ms));
    let scale = slow.and_then(|figures| below_rtt(aqm, figures));
    let effect = without_effect(aqm, side.direction());
    let scale = scale.map(|text| (Kind::AqmBelowRtt, text));
    scale.into_iter().chain(effect.map(|text| (Kind::AqmWithoutEffect, text))).collect()
}

/// Parameters for a shorter RTT: the queue drops again before a flow has answered the first drop.
fn below_rtt(aqm: Aqm, figures: &Figures) -> Option<String> {
    let rtt = figures.base_rtt_ms;
    let name = aqm.name();
    let of_interval = |key: &str, interval: Span, help: String| {
        (interval.as_millis_f64() * OTHER_SCALE < rtt).then(|| {
            format!(
                "{name} has {key} = {interval} and an RTT of {rtt:.0}ms: it drops again before a \
                 flow has responded, and the link idles; {help}"
            )
        })
    };
    match aqm {
        Aqm::Codel(codel) => of_interval("interval", codel.interval, codel_help(rtt)),
        Aqm::FqCodel(codel) => of_interval("interval", codel.interval, codel_help(rtt)),
        Aqm::DualPi2(dual) => {
            of_interval("max_rtt", dual.max_rtt, format!("set max_rtt to about {rtt:.0}ms"))
        }
        Aqm::Pie(pie) => {
            let fits = PIE_RTT_MS * 0.125 / pie.alpha.max(f64::MIN_POSITIVE);
            (fits * OTHER_SCALE < rtt).then(|| {
                format!(
                    "pie has alpha = {:?} for RTTs of about {fits:.0}ms, and an RTT of {rtt:.0}ms: \
                     its probability swings; lower alpha and beta by a factor of {:.0}, and raise \
                     target",
                    pie.alpha,
                    rtt / fits
                )
            })
        }
        Aqm::Red(red) => {
            let held = red.max_threshold * figures.packet_bytes as f64;
            (held < figures.least_bdp_bytes() / 4.0).then(|| {
                format!(
                    "red keeps the queue below {:?} packets, {:.0} % of the BDP of {:.0} packets: \
                     a halved window leaves the link idle; raise min_threshold and max_threshold",
                    red.max_threshold,
                    100.0 * held / figures.bdp_bytes,
                    figures.bdp_segments
                )
            })
        }
    }
}

fn codel_help(rtt: f64) -> String {
    format!("set interval to about {rtt:.0}ms and target to {:.0}ms", rtt / 20.0)
}

/// A queue that is full before the algorithm would act.
fn without_effect(aqm: Aqm, direction: &Direction) -> Option<String> {
    let bytes = match direction.queue {
        QueueLimit::Packets(packets) => f64::from(packets) * PACKET,
        QueueLimit::Bytes(bytes) => bytes as f64,
        QueueLimit::Unlimited => return None,
    };
    // Where the rate falls, a full queue takes longer.
    let full_ms = bytes * 8e3 / direction.lowest_rate().bits_per_second() as f64;
    let of_target = |target: Span| {
        (target.as_millis_f64() >= full_ms).then(|| {
            format!("the full queue takes {full_ms:.1}ms, not above the target of {target}")
        })
    };
    let why = match aqm {
        Aqm::Codel(codel) => of_target(codel.target),
        Aqm::FqCodel(codel) => of_target(codel.target),
        Aqm::Pie(pie) => of_target(pie.target),
        Aqm::DualPi2(dual) => of_target(dual.target),
        Aqm::Red(red) => (red.min_threshold * PACKET >= bytes).then(|| {
            format!("the queue is full at {:.0} packets, before min_threshold", bytes / PACKET)
        }),
    };
    why.map(|why| format!("{} never acts: {why}", aqm.name()))
}
