//! Figures of a channel, computed before the run.

use link::{Acm, Awgn, BurstLength, Bursts, Lock};
use serde_json::json;
use units::{Span, Time};

use super::settings::{Amount, Setting};
use super::text::{per, rate, short};
use scenario::Written;
use scenario::model::{Channel, Scenario};

/// The values of the channel of one direction of link number `link`, and what follows from them.
pub(crate) fn details(
    scenario: &Scenario,
    channel: &Channel,
    link: usize,
    side: &str,
    written: &Written,
) -> Vec<Setting> {
    let own = format!("link[{link}].{side}.channel");
    let path = if written.contains(&own) { own } else { format!("link[{link}].channel") };
    let setting = |key: &str, value: Amount, text: String| {
        Setting::new(key, value, text, written.contains(&format!("{path}.{key}")))
    };
    match channel {
        Channel::Perfect | Channel::PacketErrors { .. } | Channel::BitErrors { .. } => Vec::new(),
        Channel::Bursts(bursts) => of_bursts(bursts, setting),
        Channel::Awgn { awgn, file } => of_awgn(scenario, awgn, file.as_deref(), setting),
        Channel::Acm { acm, file } => of_acm(scenario, acm, file.as_deref(), setting),
    }
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
