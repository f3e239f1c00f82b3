//! Forward error correction before a run: the rate and the delay that it adds, what hosts see, and
//! where it does not fit the link.

use link::{BurstLength, FecSettings};

use serde_json::{Value as Json, json};
use units::Bytes;

use super::arq;
use super::{Mechanism, Side};
use crate::settings::{Amount, Setting, with_parameters};
use crate::text::{per, short};
use crate::warnings::WarningKind as Kind;
use scenario::model::{Channel, Direction, Scenario};

/// Forward error correction.
pub(crate) const MECHANISM: Mechanism =
    Mechanism { key: "fec", heading: "FEC", value, details, warnings };

fn value(side: &Side<'_>) -> Option<(Amount, String)> {
    Some(with_parameters(side.direction().fec.map(|fec| (fec.name(), data(fec)))))
}

/// The settings of FEC, with what follows from defaults.
fn data(fec: FecSettings) -> Json {
    let FecSettings { data, parity, depth, timer, in_order, header } = fec;
    json!({
        "name": fec.name(),
        "data": data,
        "parity": parity,
        "depth": depth,
        "timer": timer,
        "in_order": in_order,
        "header": Bytes(header.into()),
    })
}

/// Probability that a direction with this code loses a packet of `bytes`, in clear sky, after
/// decoding.
pub(crate) fn loss(direction: &Direction, fec: &FecSettings, bytes: u32) -> f64 {
    fec.residual_loss(packet_loss(direction, fec, bytes))
}

/// Probability that the channel corrupts a packet of `bytes`.
fn packet_loss(direction: &Direction, fec: &FecSettings, bytes: u32) -> f64 {
    direction.packet_error_rate(bytes.saturating_add(fec.header))
}

/// Seconds that a full group of packets of `bytes` takes, with its parity.
fn group_time(direction: &Direction, fec: &FecSettings, bytes: u32) -> f64 {
    let plain = f64::from(fec.group()) * f64::from(direction.framing.bytes(bytes));
    let bits = plain * fec.expansion(bytes, &direction.framing) * 8.0;
    bits / direction.rate.bits_per_second() as f64
}

fn details(side: &Side<'_>) -> Vec<Setting> {
    let (scenario, direction) = (side.scenario, side.direction());
    let Some(fec) = direction.fec else { return Vec::new() };
    let bytes = arq::longest_packet(scenario);
    let lost = packet_loss(direction, &fec, bytes);
    let residual = fec.residual_loss(lost);
    let group = group_time(direction, &fec, bytes);
    let expansion = fec.expansion(bytes, &direction.framing);
    let order = match fec.in_order {
        true => "it and all packets behind it",
        false => "the packet alone, which others overtake",
    };
    let kind = match direction.channel {
        Channel::Bursts(_) => " if losses were independent",
        _ => "",
    };
    let setting =
        |name: &str, value: f64, text: String| Setting::new(name, Amount::from(value), text, true);
    vec![
        setting(
            "added delay",
            group,
            format!(
                "up to {}ms where packets follow each other, and up to {} where they do not, for {order}; \
                 nothing without loss",
                short(group * 1e3, 1),
                fec.timer
            ),
        ),
        setting(
            "added rate",
            expansion,
            format!(
                "{}B on each packet, and {} parity packets for {}: {} times the bytes",
                fec.header,
                fec.parity,
                fec.data,
                short(expansion, 4)
            ),
        ),
        setting(
            "repairs",
            f64::from(fec.parity * fec.depth),
            format!("bursts of up to {} packets", fec.parity * fec.depth),
        ),
        setting(
            "hosts see",
            residual,
            format!("a PER of {} instead of {}{kind}", per(residual), per(lost)),
        ),
    ]
}

fn warnings(side: &Side<'_>) -> Vec<(Kind, String)> {
    let (scenario, direction) = (side.scenario, side.direction());
    let Some(fec) = direction.fec else { return Vec::new() };
    let bytes = arq::longest_packet(scenario);
    let found = [
        (Kind::FecWithoutEffect, without_effect(direction, &fec, bytes)),
        (Kind::FecBelowBurst, long_bursts(scenario, direction, &fec)),
        (Kind::FecTimerBelowBlock, short_timer(direction, &fec, bytes)),
    ];
    found.into_iter().filter_map(|(kind, text)| Some((kind, text?))).collect()
}

fn without_effect(direction: &Direction, fec: &FecSettings, bytes: u32) -> Option<String> {
    let is_perfect = packet_loss(direction, fec, bytes) == 0.0
        && !matches!(&direction.channel, Channel::Awgn { .. } | Channel::Acm { .. });
    is_perfect.then(|| {
        "the channel corrupts nothing: FEC only adds headers and parity packets".to_owned()
    })
}

/// Bursts that no interleaving of this depth spreads far enough.
fn long_bursts(scenario: &Scenario, direction: &Direction, fec: &FecSettings) -> Option<String> {
    let Channel::Bursts(bursts) = direction.channel else { return None };
    let length = match bursts.mean_burst {
        BurstLength::Packets(packets) => packets,
        BurstLength::Time(time) => {
            let bits = f64::from(direction.framing.bytes(arq::longest_packet(scenario))) * 8.0;
            time.as_secs_f64() * direction.rate.bits_per_second() as f64 / bits
        }
    };
    let burst = length * bursts.loss_in_burst;
    let repaired = fec.parity * fec.depth;
    (burst > f64::from(repaired)).then(|| {
        let depth = (burst / f64::from(fec.parity)).ceil();
        format!(
            "a burst loses {} packets on average, and parity times depth repairs {repaired}: \
             depth = {depth} or more spreads a burst over enough blocks",
            short(burst, 1)
        )
    })
}

fn short_timer(direction: &Direction, fec: &FecSettings, bytes: u32) -> Option<String> {
    let group = group_time(direction, fec, bytes);
    (fec.timer.as_secs_f64() < group).then(|| {
        format!(
            "the timer of {} closes each group before its {} packets are sent, which takes {}ms: \
             the share of parity is higher than {} of {}",
            fec.timer,
            fec.group(),
            short(group * 1e3, 1),
            fec.parity,
            fec.data + fec.parity
        )
    })
}
