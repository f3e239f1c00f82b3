//! An explanation for a terminal.

use std::fmt::{self, Display, Formatter};

use units::{Bytes, Rate};

use super::mechanism::{MECHANISMS, Mechanism};
use super::tunnel;
use super::{
    ControllerExplanation, DirectionExplanation, EventExplanation, Explanation, Figures,
    FlowExplanation, HostExplanation, HostSetting, LegExplanation, MiddleboxExplanation,
    NodeExplanation, PathExplanation, ProxyExplanation, Setting,
};

/// Lines are broken here where that is possible.
const WIDTH: usize = 100;

/// A rate in three digits.
pub(crate) fn rate(bits_per_second: f64) -> String {
    scaled(bits_per_second, &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")])
}

/// A size in three digits.
pub(crate) fn bytes(bytes: f64) -> String {
    if bytes < 100_000.0 && bytes.fract() == 0.0 {
        return format!("{bytes}B");
    }
    scaled(bytes, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// A number of events in three digits.
pub(crate) fn count(number: f64) -> String {
    scaled(number, &[(1e12, "e12"), (1e9, "e9"), (1e6, "e6"), (1e3, "e3"), (1.0, "")])
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let last = units[units.len() - 1];
    let (factor, unit) = units.iter().find(|(factor, _)| value >= *factor).unwrap_or(&last);
    let value = value / factor;
    let digits = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{}{unit}", short(value, digits))
}

/// With at most `digits` decimals.
pub(crate) fn short(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

pub(crate) fn milliseconds(ms: f64) -> String {
    format!("{}ms", short(ms, if ms >= 100.0 { 1 } else { 3 }))
}

/// A time in seconds.
fn seconds(s: f64) -> String {
    format!("{}s", short(s, 2))
}

/// A value, with a mark if it is a default.
fn marked(setting: &Setting) -> String {
    let mark = if setting.default { " (default)" } else { "" };
    format!("{}{mark}", setting.text)
}

/// Writes rows with aligned columns, indented by two.
fn table(f: &mut Formatter<'_>, rows: &[Vec<String>]) -> fmt::Result {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths) {
            line += &format!(" {cell:width$} ");
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.scenario)?;
        let rows: Vec<_> = self.settings.iter().map(|s| vec![s.name.clone(), marked(s)]).collect();
        let rows = rows.into_iter();
        let recording = self.recording.has_rows();
        let recording = recording.then(|| vec!["recording".into(), self.recording.text()]);
        table(f, &rows.chain(recording).collect::<Vec<_>>())?;

        writeln!(f, "\nNodes")?;
        nodes(f, &self.nodes)?;

        writeln!(f, "\nLinks")?;
        links(f, &self.links)?;
        for Mechanism { key, heading, .. } in &MECHANISMS {
            details(f, &self.links, heading, |link| {
                link.effects_of(key).iter().map(row).collect()
            })?;
        }
        details(f, &self.links, "Events", |link| link.events.iter().map(event_row).collect())?;

        for switch in &self.switches {
            write!(f, "{switch}")?;
        }
        for beam in &self.beams {
            write!(f, "{beam}")?;
        }
        for mix in &self.mixes {
            write!(f, "{mix}")?;
        }
        for flow in &self.flows {
            writeln!(f)?;
            write!(f, "{flow}")?;
        }
        for (names, flow) in groups(&self.flows) {
            let named = flow.settings.iter().find(|s| s.name == "transport.protocol");
            let protocol = named.map_or_else(String::new, |s| s.text.to_uppercase());
            writeln!(f, "\n{protocol} settings of {}", names.join(", "))?;
            two_columns(f, &transport(flow).map(row).collect::<Vec<_>>())?;
        }
        if !self.warnings.is_empty() {
            writeln!(f, "\nWarnings")?;
            for warning in &self.warnings {
                writeln!(f, "  {warning}")?;
            }
        }
        Ok(())
    }
}

/// Nodes that only pass packets on need no line of their own.
fn nodes(f: &mut Formatter<'_>, nodes: &[NodeExplanation]) -> fmt::Result {
    let is_plain = |node: &&NodeExplanation| {
        node.forwarding.is_none() && node.middlebox.is_none() && node.proxy.is_none()
    };
    let plain = nodes.iter().filter(is_plain);
    let plain: Vec<_> = plain.map(|node| node.name.as_str()).collect();
    let mut line = String::from(" ");
    for (i, name) in plain.iter().enumerate() {
        if line.len() + name.len() > WIDTH {
            writeln!(f, "{line}")?;
            line = String::from(" ");
        }
        line += &format!(" {name}{}", if i + 1 < plain.len() { "," } else { "" });
    }
    if !plain.is_empty() {
        writeln!(f, "{line}")?;
    }
    let limited = nodes.iter().flat_map(|node| {
        let limit = node.forwarding.map(|limit| {
            let rate = Rate::from_bits_per_second(limit.rate_bps);
            format!("forwards {rate}, buffer {}", Bytes(limit.buffer_bytes))
        });
        let lines = limit.into_iter().chain(node.middlebox.iter().flat_map(middlebox));
        let lines = lines.chain(node.proxy.iter().flat_map(proxy));
        lines.enumerate().map(|(line, text)| {
            vec![if line == 0 { node.name.clone() } else { String::new() }, text]
        })
    });
    table(f, &limited.collect::<Vec<_>>())
}

/// A middlebox, what it sees, and what it adds.
fn middlebox(middlebox: &MiddleboxExplanation) -> [String; 2] {
    let MiddleboxExplanation { name, data_of, acks_of, added_delay_ms } = middlebox;
    let of = |what: &str, flows: &[String]| {
        (!flows.is_empty()).then(|| format!("{what} of {}", flows.join(", ")))
    };
    let seen: Vec<_> = [of("data", data_of), of("ACKs", acks_of)].into_iter().flatten().collect();
    let delay = match added_delay_ms {
        0.0 => "adds no delay".to_owned(),
        most => format!("delays a packet by at most {}", milliseconds(*most)),
    };
    [name.clone(), format!("sees {}; {delay}", seen.join(" and "))]
}

/// A split proxy, its sides, and what it splits.
fn proxy(proxy: &ProxyExplanation) -> [String; 2] {
    let ProxyExplanation {
        preset,
        terrestrial,
        satellite,
        splits,
        unsplit,
        hidden,
        accept,
        connections,
        relay_buffer_bytes,
        terrestrial_rate,
        satellite_rate,
    } = proxy;
    let [terrestrial, satellite] = [terrestrial, satellite].map(|names| names.join(", "));
    let splits = if splits.is_empty() { "nothing".to_owned() } else { splits.join(", ") };
    let preset = preset.map_or_else(String::new, |name| format!(" {name}"));
    let unsplit = match &**unsplit {
        [] => String::new(),
        names => format!(", not {} (its protocol is no TCP)", names.join(", ")),
    };
    let hidden = match &**hidden {
        [] => String::new(),
        names => format!(", not {} (a tunnel hides it)", names.join(", ")),
    };
    let limit =
        connections.map_or_else(String::new, |most| format!("; at most {most} connections"));
    let shared =
        [("terrestrial", terrestrial_rate), ("satellite", satellite_rate)].map(|(side, shared)| {
            shared.as_ref().map_or_else(String::new, |shared| {
                let burst = bytes(shared.burst_bytes as f64);
                format!("; {side} connections share {}, burst {burst}", rate(shared.rate_bps))
            })
        });
    [
        format!("split proxy{preset}: terrestrial side {terrestrial}; satellite side {satellite}"),
        format!(
            "splits {splits}{unsplit}{hidden}; accept {accept}{limit}; relay buffer {}{}",
            Bytes(*relay_buffer_bytes),
            shared.concat()
        ),
    ]
}

/// One row for a leg of a flow.
fn leg(leg: &LegExplanation) -> Vec<String> {
    let LegExplanation { from, to, controller, base_rtt_ms, bdp_bytes, window_bytes, .. } = leg;
    let protocol = match leg.protocol {
        "tcp" => String::new(),
        other => format!("{other}, "),
    };
    let text = format!(
        "{protocol}{controller}: round trip {}, {} at {}, BDP {}, window at most {} ({}), PER {}",
        milliseconds(*base_rtt_ms),
        rate(leg.bottleneck_bps),
        leg.bottleneck,
        bytes(*bdp_bytes),
        bytes(*window_bytes as f64),
        rate(leg.window_limit_bps),
        per(leg.per),
    );
    vec![format!("leg {from} -> {to}"), text]
}

/// Two rows for a path of a flow.
fn path(path: &PathExplanation) -> [Vec<String>; 2] {
    let PathExplanation { via, route, return_route, base_rtt_ms, bottleneck, .. } = path;
    let is_same = route.iter().rev().eq(return_route);
    let back =
        if is_same { String::new() } else { format!(", back {}", return_route.join(" -> ")) };
    let figures = format!(
        "round trip {}, {} at {bottleneck}, PER {}, failover after {} or later",
        milliseconds(*base_rtt_ms),
        rate(path.bottleneck_bps),
        per(path.per),
        seconds(path.failover_s),
    );
    let route = format!("{}{back}", route.join(" -> "));
    [vec![format!("path {via}"), route], vec![String::new(), figures]]
}

/// One line for a link that is the same in both directions.
fn links(f: &mut Formatter<'_>, directions: &[DirectionExplanation]) -> fmt::Result {
    let names = directions.first().map(|link| &link.settings).into_iter().flatten();
    let head = std::iter::once(String::new()).chain(names.map(|s| s.name.clone())).collect();
    let mut rows: Vec<Vec<String>> = vec![head];
    for link in directions.chunks(2) {
        match link {
            [forward, backward] if forward.settings == backward.settings => {
                rows.push(link_row(forward, "<->"));
            }
            link => rows.extend(link.iter().map(|direction| link_row(direction, "->"))),
        }
    }
    table(f, &rows)
}

/// Settings that do not fit into the line of a link; once if both directions have the same.
fn details(
    f: &mut Formatter<'_>,
    directions: &[DirectionExplanation],
    heading: &str,
    of: impl Fn(&DirectionExplanation) -> Vec<Vec<String>>,
) -> fmt::Result {
    let write = |f: &mut Formatter<'_>, link: &DirectionExplanation, arrow: &str| {
        if of(link).is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{heading} {} {arrow} {}", link.from, link.to)?;
        table(f, &of(link))
    };
    for link in directions.chunks(2) {
        match link {
            [forward, backward] if of(forward) == of(backward) => write(f, forward, "<->")?,
            link => link.iter().try_for_each(|direction| write(f, direction, "->"))?,
        }
    }
    Ok(())
}

fn link_row(link: &DirectionExplanation, arrow: &str) -> Vec<String> {
    let way = format!("{} {arrow} {}", link.from, link.to);
    std::iter::once(way).chain(link.settings.iter().map(marked)).collect()
}

/// Two columns of rows, the left one first.
fn two_columns(f: &mut Formatter<'_>, rows: &[Vec<String>]) -> fmt::Result {
    let half = rows.len().div_ceil(2);
    let beside = |i: usize| {
        let right = rows.get(half + i).into_iter().flatten();
        rows[i].iter().chain(right).cloned().collect()
    };
    table(f, &(0..half).map(beside).collect::<Vec<_>>())
}

/// When an event happens, and what becomes different.
fn event_row(event: &EventExplanation) -> Vec<String> {
    let change = &event.change;
    let when = match change.every {
        Some(every) => format!("at {} and every {every}", change.at),
        None => format!("at {}", change.at),
    };
    let what = [
        change.rate.map(|rate| format!("rate {rate}")),
        change.delay.map(|delay| format!("delay {delay}")),
        change.outage.map(|outage| format!("outage of {outage}")),
    ];
    vec![when, what.into_iter().flatten().collect::<Vec<_>>().join(", ")]
}

/// A setting as a row, without the prefix that its heading says.
fn row(setting: &Setting) -> Vec<String> {
    let name = setting.name.strip_prefix(TRANSPORT).unwrap_or(&setting.name);
    vec![name.to_owned(), marked(setting)]
}

const TRANSPORT: &str = "transport.";

/// The TCP settings that flows may have in common.
fn transport(flow: &FlowExplanation) -> impl Iterator<Item = &Setting> {
    flow.settings.iter().filter(|s| s.name.starts_with(TRANSPORT) && !is_own(s))
}

/// Returns true if the setting differs from flow to flow by nature.
fn is_own(setting: &Setting) -> bool {
    setting.name == "transport.initial_sequence"
}

/// The flows that have the same TCP settings, by their names, with the first of each group.
fn groups(flows: &[FlowExplanation]) -> Vec<(Vec<&str>, &FlowExplanation)> {
    let mut groups: Vec<(Vec<&str>, &FlowExplanation)> = Vec::new();
    for flow in flows {
        match groups.iter_mut().find(|(_, first)| transport(first).eq(transport(flow))) {
            Some((names, _)) => names.push(&flow.name),
            None => groups.push((vec![&flow.name], flow)),
        }
    }
    groups
}

impl Display for FlowExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let copies = if self.count > 1 { format!(" x {}", self.count) } else { String::new() };
        writeln!(f, "Flow {}{copies}: {}", self.name, self.summary)?;
        let mut rows = vec![
            vec!["route".into(), self.route.join(" -> ")],
            vec!["return route".into(), self.return_route.join(" -> ")],
        ];
        rows.extend(figures(&self.figures));
        rows.extend(self.tunnel.iter().flat_map(tunnel::rows));
        rows.extend(self.paths.iter().flat_map(path));
        rows.extend(self.legs.iter().map(leg));
        let controller = &self.controller;
        let read_in = controller.implementation.map(|which| format!(" ({which})"));
        let read_in = read_in.unwrap_or_default();
        let ControllerExplanation { name, status, source, .. } = controller;
        let known = format!("{name}, {status}{read_in}: {source}");
        rows.push(vec!["controller".into(), known]);
        rows.push(vec![String::new(), controller.summary.into()]);
        let own = self.settings.iter().filter(|s| !s.name.starts_with(TRANSPORT) || is_own(s));
        rows.extend(own.map(row));
        table(f, &rows)?;
        self.hosts.iter().try_for_each(|end| host(f, end))
    }
}

/// An end of a flow with the values of its profile.
fn host(f: &mut Formatter<'_>, host: &HostExplanation) -> fmt::Result {
    let HostExplanation { end, node, profile, status, settings, notes } = host;
    let profile = match (profile, status) {
        (Some(name), Some(status)) => format!("{name}, {status}"),
        _ => "no profile".to_owned(),
    };
    writeln!(f, "\nHost {node} ({end}): {profile}")?;
    let row = |HostSetting { setting, origin, overridden, certainty, .. }: &HostSetting| {
        let name = setting.name.strip_prefix(TRANSPORT).unwrap_or(&setting.name);
        let origin = match (overridden, certainty) {
            (Some(declared), _) => format!("{origin} ({declared})"),
            (None, Some(certainty)) => format!("from {origin}, {certainty}"),
            (None, None) => origin.clone(),
        };
        vec![name.to_owned(), setting.text.clone(), origin]
    };
    table(f, &settings.iter().map(row).collect::<Vec<_>>())?;
    notes.iter().try_for_each(|note| writeln!(f, "  {note}"))
}

fn figures(figures: &Figures) -> Vec<Vec<String>> {
    let connections = match figures.connections {
        1 => String::new(),
        n => format!(" in each of {n} connections"),
    };
    let shared = match figures.bottleneck_flows {
        0 | 1 => String::new(),
        n => format!(", shared by {n} flows"),
    };
    let answer = if figures.has_window { "ACK" } else { "answer" };
    let mut rows = vec![
        (
            "round trip",
            format!(
                "{} propagation{}{}, {} with a full packet of {}B and its {answer}",
                milliseconds(figures.propagation_rtt_ms),
                if figures.mean_delay { " (mean of the trace)" } else { "" },
                at_the_start(figures.rtt_range_ms, milliseconds),
                milliseconds(figures.base_rtt_ms),
                figures.packet_bytes
            ),
        ),
        (
            "bottleneck",
            format!(
                "{}: {} of IP packets{}{}, {} of payload, {} per segment{shared}",
                figures.bottleneck,
                rate(figures.bottleneck_bps),
                if figures.mean_rate { " (mean of the trace)" } else { "" },
                at_the_start(figures.rate_range_bps, rate),
                rate(figures.capacity_bps),
                milliseconds(figures.segment_time_ms)
            ),
        ),
        (
            "return bottleneck",
            format!(
                "{}: {} of {answer}s, enough for {} of payload",
                figures.return_bottleneck,
                rate(figures.return_bottleneck_bps),
                rate(figures.ack_limit_bps)
            ),
        ),
        ("BDP", product(figures)),
        (
            "window",
            match figures.has_window {
                true => format!(
                    "at most {} = {} segments{connections}: {}",
                    bytes(figures.window_bytes as f64),
                    figures.window_segments,
                    rate(figures.window_limit_bps)
                ),
                false => "none: the application alone sets the rate".to_owned(),
            },
        ),
        (
            "packet error rate",
            format!(
                "{} of a full packet, {} of an {answer}",
                per(figures.per),
                per(figures.ack_per)
            ),
        ),
    ];
    if let Some(offered) = figures.offered {
        let mean = rate(offered.mean_bps);
        rows.push((
            "offered",
            match offered.mean_bps < offered.peak_bps {
                true => format!("{mean} on average, {} in bursts", rate(offered.peak_bps)),
                false => mean,
            },
        ));
    }
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

/// The bandwidth-delay product.
fn product(figures: &Figures) -> String {
    let is_steady = figures.rate_range_bps.is_none() && figures.rtt_range_ms.is_none();
    let changes = if is_steady { "" } else { " at the start" };
    format!("{} = {:.1} segments{changes}", bytes(figures.bdp_bytes), figures.bdp_segments)
}

/// The range of a value that events change, after the value at the start.
fn at_the_start(range: Option<[f64; 2]>, text: impl Fn(f64) -> String) -> String {
    range.map_or_else(String::new, |[least, most]| {
        format!(" at the start ({} to {} in the run)", text(least), text(most))
    })
}

/// A probability in three digits.
pub(crate) fn per(per: f64) -> String {
    if per == 0.0 {
        "0".into()
    } else if per >= 1e-3 {
        format!("{per:.4}")
    } else {
        format!("{per:.2e}")
    }
}
