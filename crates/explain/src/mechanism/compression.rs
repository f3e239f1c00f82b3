//! Header compression before a run: the length of headers, and what a loss takes with it.

use units::Span;
use wire::IpVersion;

use super::{Mechanism, Side};
use crate::settings::{Amount, Setting, with_parameters};
use crate::text::short;
use crate::warnings::WarningKind as Kind;
use scenario::model::{Flow, HeaderCompression, Link};

/// Header compression.
pub(crate) const MECHANISM: Mechanism = Mechanism {
    key: "header_compression",
    heading: "Header compression",
    value,
    details,
    warnings,
};

/// Bytes of a header without compression, and on average with it, for the data of a flow or for its
/// ACKs.
fn header(
    settings: HeaderCompression,
    ip: IpVersion,
    flow: &Flow,
    is_data: bool,
) -> Option<(f64, f64)> {
    let transport = flow.transport.tcp()?;
    let payload = if is_data { transport.full_payload() } else { 0 };
    let payload = u16::try_from(payload).unwrap_or(u16::MAX);
    let timestamps = transport.timestamps_bytes();
    let plain = u64::from(ip.header_bytes() + wire::tcp::HEADER) + u64::from(timestamps);
    Some((plain as f64, settings.mean_header(ip, payload, timestamps > 0)))
}

/// The header compression of a direction.
fn settings(side: &Side<'_>) -> Option<HeaderCompression> {
    side.link().header_compression[usize::from(!side.hop.forward)]
}

fn value(side: &Side<'_>) -> Option<(Amount, String)> {
    let data = |settings: HeaderCompression| {
        (settings.name(), serde_json::to_value(settings).unwrap_or_default())
    };
    Some(with_parameters(settings(side).map(data)))
}

fn details(side: &Side<'_>) -> Vec<Setting> {
    let Some(settings) = settings(side) else { return Vec::new() };
    let (scenario, link) = (side.scenario, side.link());
    let setting =
        |name: &str, value: f64, text: String| Setting::new(name, Amount::from(value), text, true);
    let headers = [("headers of data", true), ("headers of ACKs", false)].map(|(name, is_data)| {
        let all =
            scenario.flows.iter().filter_map(|flow| header(settings, scenario.ip, flow, is_data));
        let longest = all.max_by(|a, b| a.1.total_cmp(&b.1));
        longest.map(|(plain, sent)| {
            let text = format!("{}B instead of {plain}B on average, without loss", short(sent, 1));
            setting(name, sent, text)
        })
    });
    let (tolerated, text) = after_loss(settings, link);
    let loss = setting("tolerated loss", tolerated, text);
    headers.into_iter().flatten().chain([loss]).collect()
}

/// Packets that may be lost in a row without further loss, and what follows otherwise.
fn after_loss(settings: HeaderCompression, link: &Link) -> (f64, String) {
    let text = |repeats: u8, until: String| {
        let tolerated = f64::from(repeats - 1);
        (tolerated, format!("{tolerated} packets in a row; after more, all packets {until}"))
    };
    match settings {
        HeaderCompression::Vj(_) => {
            let text = "none: all packets of the connection are lost until a full header, often after an RTO";
            (0.0, text.to_owned())
        }
        HeaderCompression::Scps(_) => {
            (f64::INFINITY, "any number of packets: values are absolute".to_owned())
        }
        HeaderCompression::Rohc(settings) => {
            let delays = [&link.forward, &link.backward].map(|side| side.delay.as_millis_f64());
            let round_trip = delays[0] + delays[1];
            let until =
                format!("are lost until feedback has brought a refresh, {round_trip:.0}ms or more");
            text(settings.repeats, until)
        }
        HeaderCompression::RohcUnidirectional(settings) => {
            let interval: Span = settings.dynamic_interval.min(settings.refresh_interval);
            text(settings.repeats, format!("are lost until the next refresh, up to {interval}"))
        }
    }
}

/// Savings below this share of a header are none.
const LEAST_SAVED: f64 = 0.1;

fn warnings(side: &Side<'_>) -> Vec<(Kind, String)> {
    let Some(settings) = settings(side) else { return Vec::new() };
    let data = side.flows_of(0).map(|flow| (flow, true));
    let flows = data.chain(side.flows_of(1).map(|flow| (flow, false)));
    let mut saved = flows.filter_map(|(flow, is_data)| {
        let (plain, sent) = header(settings, side.scenario.ip, flow, is_data)?;
        Some(1.0 - sent / plain)
    });
    let is_useless = saved.all(|share| share < LEAST_SAVED);
    let direction = side.direction();
    let loses = direction.packet_error_rate(40) > 0.0 && direction.arq.is_none();
    let is_vj = matches!(settings, HeaderCompression::Vj(_));
    let found = [
        is_useless.then(|| {
            let text = format!(
                "{} compresses nothing: no flow sends headers here that it can compress",
                settings.name()
            );
            let hint = if is_vj { "; `transport.timestamps = false` helps it" } else { "" };
            (Kind::CompressionWithoutEffect, text + hint)
        }),
        (is_vj && loses).then(|| {
            let text = "vj on a channel with errors: each lost packet takes all that follow it in its \
                        connection, until a full header; `rohc` and `scps` tolerate losses";
            (Kind::CompressionSpreadsLoss, text.to_owned())
        }),
    ];
    found.into_iter().flatten().collect()
}
