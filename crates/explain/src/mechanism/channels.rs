//! Figures of a channel, computed before the run.

use link::{Acm, Awgn, BurstLength, Bursts, CorrelatedErrors, Lock};
use serde_json::{Value as Json, json};
use units::{Span, Time};

use super::reorder::{another_share, of_correlation, percent};
use super::{Mechanism, Side};
use crate::settings::{Amount, Setting};
use crate::text::{per, rate, short};
use crate::warnings::WarningKind as Kind;
use scenario::model::{Channel, Scenario};

/// The channel.
pub(crate) const MECHANISM: Mechanism = Mechanism {
    key: "channel",
    heading: "Channel",
    value: |side| {
        let channel = &side.direction().channel;
        Some((Amount::plain(channel_data(channel)), name(channel)))
    },
    details,
    warnings,
};

/// The values of the channel, and what follows from them.
fn details(side: &Side<'_>) -> Vec<Setting> {
    let (scenario, written) = (side.scenario, side.written);
    let own = format!("link[{}].{}.channel", side.number(), side.name());
    let path =
        if written.contains(&own) { own } else { format!("link[{}].channel", side.number()) };
    let setting = |key: &str, value: Amount, text: String| {
        Setting::new(key, value, text, written.contains(&format!("{path}.{key}")))
    };
    match &side.direction().channel {
        Channel::Perfect | Channel::PacketErrors { .. } | Channel::BitErrors { .. } => Vec::new(),
        &Channel::Correlated(CorrelatedErrors { per, correlation, mean_loss }) => {
            let lost = format!("{} of the packets", percent(mean_loss));
            vec![
                Setting::new("mean_loss", mean_loss.into(), lost, true),
                setting("per", per.into(), percent(per)),
                of_correlation(correlation, per, true),
            ]
        }
        Channel::Bursts(bursts) => of_bursts(bursts, setting),
        Channel::Awgn { awgn, file } => of_awgn(scenario, awgn, file.as_deref(), setting),
        Channel::Acm { acm, file } => of_acm(scenario, acm, file.as_deref(), setting),
    }
}

fn warnings(side: &Side<'_>) -> Vec<(Kind, String)> {
    let channel = &side.direction().channel;
    let found = [
        (Kind::UselessEcc, threshold(channel)),
        (Kind::NoiseWithoutRain, rainless_noise(channel)),
        (Kind::NoLock, lockless(side.scenario, channel)),
        (Kind::NoModcod, lost_by_fade(side.scenario, channel)),
    ];
    let correlated = match *channel {
        Channel::Correlated(CorrelatedErrors { per, mean_loss, .. }) => {
            another_share(mean_loss, per, "are lost")
        }
        _ => None,
    };
    let found = found.into_iter().filter_map(|(kind, text)| Some((kind, text?)));
    found.chain(correlated).collect()
}

fn channel_data(channel: &Channel) -> Json {
    match channel {
        Channel::Perfect => json!({ "kind": "perfect" }),
        Channel::PacketErrors { per } => json!({ "kind": "packet_errors", "per": per }),
        Channel::Correlated(errors) => json!({
            "kind": "correlated",
            "per": errors.per,
            "correlation": errors.correlation,
            "mean_loss": errors.mean_loss,
        }),
        Channel::BitErrors { ber, ecc_threshold } => {
            json!({ "kind": "bit_errors", "ber": ber, "ecc_threshold": ecc_threshold })
        }
        Channel::Bursts(bursts) => json!({ "kind": "bursts", "mean_loss": bursts.mean_loss }),
        Channel::Awgn { awgn, .. } => json!({
            "kind": "awgn",
            "eb_n0_db": awgn.budget().eb_n0,
            "code": awgn.budget().code.name(),
        }),
        Channel::Acm { acm, .. } => json!({
            "kind": "acm",
            "es_n0_db": acm.signal().es_n0,
            "modem": acm.modem().name(),
        }),
    }
}

fn name(channel: &Channel) -> String {
    match channel {
        Channel::Perfect => "perfect".into(),
        Channel::PacketErrors { per } => format!("PER {per:?}"),
        Channel::Correlated(errors) => {
            format!("correlated, loses {}", percent(errors.mean_loss))
        }
        Channel::BitErrors { ber, ecc_threshold: 0.0 } => format!("BER {ber:?}"),
        Channel::BitErrors { ber, ecc_threshold } => {
            format!("BER {ber:?}, corrects {ecc_threshold:?}")
        }
        Channel::Bursts(bursts) => format!("bursts, PER {:?}", bursts.mean_loss),
        Channel::Awgn { awgn, .. } => {
            let budget = awgn.budget();
            format!("Eb/N0 {}dB, {}", budget.eb_n0, budget.code.name())
        }
        Channel::Acm { acm, .. } => {
            format!("Es/N0 {}dB, {}", acm.signal().es_n0, acm.modem().name())
        }
    }
}

fn threshold(channel: &Channel) -> Option<String> {
    let Channel::BitErrors { ecc_threshold, .. } = *channel else { return None };
    let bits = (1500 * 8) as f64;
    (ecc_threshold > 0.0 && ecc_threshold * bits < 1.0).then(|| {
        format!(
            "ecc_threshold = {ecc_threshold:?} corrects nothing: one wrong bit of \
             the 12000 of a 1500-byte packet exceeds it"
        )
    })
}

fn rainless_noise(channel: &Channel) -> Option<String> {
    let signal = match channel {
        Channel::Awgn { awgn, .. } => {
            let budget = awgn.budget();
            (budget.system_temperature, budget.fade.deepest())
        }
        Channel::Acm { acm, .. } => (acm.signal().system_temperature, acm.signal().fade.deepest()),
        _ => return None,
    };
    let (temperature, (_, deepest)) = signal;
    (temperature.is_some() && deepest <= 0.0)
        .then(|| "system_temperature has no effect without an attenuation".into())
}

fn lockless(scenario: &Scenario, channel: &Channel) -> Option<String> {
    let Channel::Awgn { awgn, .. } = channel else { return None };
    let duration = scenario.duration;
    let share = Outages::of(awgn, duration).total.as_secs_f64() / duration.as_secs_f64();
    (share > 0.5).then(|| {
        format!("the demodulator has no lock for {:.0} % of the {duration}", 100.0 * share)
    })
}

/// Times at which the signal is too weak for what the modem sends.
fn lost_by_fade(scenario: &Scenario, channel: &Channel) -> Option<String> {
    let Channel::Acm { acm, .. } = channel else { return None };
    lost_by_signal(scenario.duration, acm)
}

/// Time of a run in which no choice of a modem gets through, in words, if it is more than 1 %.
pub(crate) fn lost_by_signal(duration: Span, acm: &Acm) -> Option<String> {
    let end = Time::ZERO + duration;
    let of_run = |(from, to): &(Time, Time)| (*to).min(end).since((*from).min(end));
    let lost = acm.outages().iter().map(of_run).fold(Span::ZERO, |sum, span| sum + span);
    let seconds = lost.as_secs_f64();
    let (_, deepest) = acm.signal().fade.deepest();
    let left = acm.signal().behind(deepest);
    let why = if left < acm.least() {
        format!(
            "at the highest attenuation {left:.2}dB are left, and the most robust choice needs {}dB",
            acm.least()
        )
    } else {
        "the attenuation changes faster than the control loop follows, which `margin` can absorb"
            .into()
    };
    (seconds > 0.01 * duration.as_secs_f64())
        .then(|| format!("all packets are lost for {seconds:.1}s of the run: {why}"))
}

fn of_acm(
    scenario: &Scenario,
    acm: &Acm,
    file: Option<&str>,
    setting: impl Fn(&str, Amount, String) -> Setting,
) -> Vec<Setting> {
    let (signal, settings) = (acm.signal(), acm.modem().settings());
    let (at, deepest) = signal.fade.deepest();
    let samples = signal.fade.samples().len();
    let chosen = |at: Time| {
        let modcod = acm.choice(at);
        format!("{}, {}", modcod.name, rate(settings.rate(modcod).bits_per_second() as f64))
    };
    let clear = chosen(Time::ZERO);
    let end = Time::ZERO + scenario.duration;
    let changes = acm.rates().changes().iter().filter(|change| change.at < scenario.duration);
    let rates = changes.clone().filter_map(|change| change.rate).chain([acm.rate()]);
    let lowest = rates.min_by_key(|rate| rate.bits_per_second()).unwrap_or(acm.rate());
    let of_run = |(from, to): &(Time, Time)| (*to).min(end).since((*from).min(end));
    let lost = acm.outages().iter().map(of_run).fold(Span::ZERO, |sum, span| sum + span);
    let attenuation = match file {
        Some(file) => format!("{file}: {samples} samples, at most {}dB at {at}", short(deepest, 2)),
        None if deepest == 0.0 => "none".into(),
        None => format!("{}dB", short(deepest, 2)),
    };
    let attenuation_data = Amount::plain(json!({
        "file": file,
        "samples": samples,
        "max_db": deepest,
        "max_at_s": at.since(Time::ZERO).as_secs_f64(),
    }));
    let modem_data = Amount::plain(json!({
        "name": acm.modem().name(),
        "symbol_rate": settings.symbol_rate(),
        "changes": changes.clone().count(),
        "lowest_rate_bps": lowest.bits_per_second(),
        "lost_s": lost.as_secs_f64(),
    }));
    let modem = format!(
        "{}, {} million symbols per second: {} changes of the rate, at least {}; packets are lost for {}s",
        acm.modem().name(),
        short(settings.symbol_rate() / 1e6, 3),
        changes.count(),
        rate(lowest.bits_per_second() as f64),
        short(lost.as_secs_f64(), 3),
    );
    let temperature = signal.system_temperature.map_or_else(
        || "none".to_owned(),
        |temperature| {
            let rise = signal.es_n0 - deepest - signal.behind(deepest);
            format!("{temperature}K: rain raises noise by up to {}dB", short(rise, 2))
        },
    );
    vec![
        setting(
            "es_n0",
            Amount::decibels(signal.es_n0),
            format!("{}dB: {clear} at the start", short(signal.es_n0, 2)),
        ),
        setting("modem", modem_data, modem),
        setting("attenuation", attenuation_data, attenuation),
        setting("system_temperature", Amount::plain(signal.system_temperature), temperature),
    ]
}

fn of_bursts(bursts: &Bursts, setting: impl Fn(&str, Amount, String) -> Setting) -> Vec<Setting> {
    let (burst, length, waits) = match bursts.mean_burst {
        BurstLength::Packets(packets) => (
            Amount::from(packets),
            format!("{packets} packets"),
            "; a burst waits while nothing is sent",
        ),
        BurstLength::Time(time) => {
            (Amount::from(time), time.to_string(), "; in time, whatever is sent")
        }
    };
    let gap = match (bursts.mean_gap(), bursts.mean_burst) {
        (gap, _) if gap.is_infinite() => ", never".into(),
        (gap, BurstLength::Packets(_)) => format!(", {} between bursts{waits}", short(gap, 1)),
        (gap, BurstLength::Time(_)) => {
            format!(", {} between bursts{waits}", Span::from_secs_f64(gap))
        }
    };
    vec![
        setting("mean_loss", bursts.mean_loss.into(), format!("{:?}", bursts.mean_loss)),
        setting("mean_burst", burst, format!("{length}{gap}")),
        setting("loss_in_burst", bursts.loss_in_burst.into(), bursts.loss_in_burst.to_string()),
        setting("loss_in_gap", bursts.loss_in_gap.into(), bursts.loss_in_gap.to_string()),
    ]
}

fn of_awgn(
    scenario: &Scenario,
    awgn: &Awgn,
    file: Option<&str>,
    setting: impl Fn(&str, Amount, String) -> Setting,
) -> Vec<Setting> {
    let budget = awgn.budget();
    let longest = scenario.flows.iter().map(|flow| scenario.packet_bytes(flow)).max();
    let bytes = u32::try_from(longest.unwrap_or(0)).unwrap_or(u32::MAX);
    // What a full packet meets at this Eb/N0.
    let meets = |eb_n0: f64| {
        format!(
            "{}dB, BER {}, PER {} of {bytes}B",
            short(eb_n0, 2),
            per(budget.code.bit_error_rate(eb_n0)),
            per(budget.packet_error_rate(eb_n0, bytes)),
        )
    };
    let none = || "none".to_owned();
    let temperature = budget.system_temperature.map_or_else(none, |temperature| {
        let (_, deepest) = budget.fade.deepest();
        let rise = short(budget.noise_rise(deepest), 2);
        format!("{temperature}K: rain raises noise by up to {rise}dB")
    });
    let samples = budget.fade.samples();
    let (at, deepest) = budget.fade.deepest();
    let worst = meets(budget.eb_n0(deepest));
    let attenuation = match (file, samples) {
        (Some(file), [(first, _), .., (last, _)]) => format!(
            "{file}: {} samples from {first} to {last}, at most {}dB at {at}: {worst}",
            samples.len(),
            short(deepest, 2),
        ),
        _ if deepest == 0.0 => none(),
        _ => format!("{}dB: {worst}", short(deepest, 2)),
    };
    let lock = budget.lock.map_or_else(
        || "never lost".to_owned(),
        |lock| describe(&lock, &Outages::of(awgn, scenario.duration)),
    );
    let attenuation_data = Amount::plain(json!({
        "file": file,
        "samples": samples.len(),
        "max_db": deepest,
        "max_at_s": at.since(Time::ZERO).as_secs_f64(),
    }));
    let temperature_data = Amount::plain(budget.system_temperature);
    let lock_data = Amount::plain(budget.lock.map(|lock| {
        let outages = Outages::of(awgn, scenario.duration);
        json!({
            "threshold_db": lock.threshold,
            "hysteresis_db": lock.hysteresis,
            "reacquisition_s": lock.reacquisition.as_secs_f64(),
            "outages": outages.count,
            "outage_s": outages.total.as_secs_f64(),
        })
    }));
    vec![
        setting("eb_n0", Amount::decibels(budget.eb_n0), meets(budget.eb_n0)),
        setting("code", Amount::plain(budget.code.name()), budget.code.name().to_owned()),
        setting(
            "errors_per_event",
            budget.errors_per_event.into(),
            budget.errors_per_event.to_string(),
        ),
        setting("attenuation", attenuation_data, attenuation),
        setting("system_temperature", temperature_data, temperature),
        setting("lock", lock_data, lock),
    ]
}

fn describe(lock: &Lock, outages: &Outages) -> String {
    let Lock { threshold, hysteresis, reacquisition } = lock;
    let found = short(threshold + hysteresis, 2);
    let rule = format!("lost below {threshold}dB, found {reacquisition} after {found}dB");
    let seconds = |span: Span| short(span.as_secs_f64(), 1);
    match outages.count {
        0 => format!("{rule}: never lost"),
        count => format!(
            "{rule}: lost {count} times for {}s in all, the longest for {}s from {}s on",
            seconds(outages.total),
            seconds(outages.longest.1.since(outages.longest.0)),
            short(outages.longest.0.as_secs_f64(), 1),
        )
        .replace(" 1 times", " once"),
    }
}

/// The outages that fall into a run.
pub(crate) struct Outages {
    count: usize,
    pub total: Span,
    longest: (Time, Time),
}

impl Outages {
    pub fn of(awgn: &Awgn, duration: Span) -> Self {
        let end = Time::ZERO + duration;
        let mut all = Self { count: 0, total: Span::ZERO, longest: (Time::ZERO, Time::ZERO) };
        for &(from, to) in awgn.outages().iter().take_while(|(from, _)| *from < end) {
            let to = to.min(end);
            all.count += 1;
            all.total = all.total + to.since(from);
            if to.since(from) > all.longest.1.since(all.longest.0) {
                all.longest = (from, to);
            }
        }
        all
    }
}
