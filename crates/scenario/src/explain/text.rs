//! An explanation for a terminal.

use std::fmt::{self, Display, Formatter};

use super::{DirectionExplanation, Explanation, Figures, FlowExplanation, Setting};

/// A rate in three digits.
pub(super) fn rate(bits_per_second: f64) -> String {
    scaled(bits_per_second, &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")])
}

/// A size in three digits.
pub(super) fn bytes(bytes: f64) -> String {
    if bytes < 100_000.0 && bytes.fract() == 0.0 {
        return format!("{bytes}B");
    }
    scaled(bytes, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
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
    format!("{value:.digits$}{unit}")
}

fn milliseconds(ms: f64) -> String {
    if ms >= 100.0 { format!("{ms:.1}ms") } else { format!("{ms:.3}ms") }
}

/// A value, with a mark if nobody wrote it.
fn marked(setting: &Setting) -> String {
    let mark = if setting.default { " (default)" } else { "" };
    format!("{}{mark}", setting.value)
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
        table(f, &rows)?;

        writeln!(f, "\nNodes")?;
        let row = |node: &super::NodeExplanation| {
            vec![node.name.clone(), node.forwarding.clone().unwrap_or_default()]
        };
        table(f, &self.nodes.iter().map(row).collect::<Vec<_>>())?;

        writeln!(f, "\nLinks")?;
        let names = self.links.first().map(|link| &link.settings).into_iter().flatten();
        let head = std::iter::once(String::new()).chain(names.map(|s| s.name.clone())).collect();
        let rows = std::iter::once(head).chain(self.links.iter().map(link_row));
        table(f, &rows.collect::<Vec<_>>())?;

        for flow in &self.flows {
            writeln!(f)?;
            write!(f, "{flow}")?;
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

fn link_row(link: &DirectionExplanation) -> Vec<String> {
    let way = format!("{} -> {}", link.from, link.to);
    std::iter::once(way).chain(link.settings.iter().map(marked)).collect()
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
        rows.push(vec!["controller".into(), self.controller.clone()]);
        rows.extend(self.settings.iter().map(|s| vec![s.name.clone(), marked(s)]));
        table(f, &rows)
    }
}

fn figures(figures: &Figures) -> Vec<Vec<String>> {
    let connections = match figures.connections {
        1 => String::new(),
        n => format!(" in each of {n} connections"),
    };
    let rows = [
        (
            "round trip",
            format!(
                "{} propagation, {} with a full packet of {}B and its ACK",
                milliseconds(figures.propagation_rtt_ms),
                milliseconds(figures.base_rtt_ms),
                figures.packet_bytes
            ),
        ),
        (
            "bottleneck",
            format!(
                "{}: {} of IP packets, {} of payload, {} per segment",
                figures.bottleneck,
                rate(figures.bottleneck_bps),
                rate(figures.capacity_bps),
                milliseconds(figures.segment_time_ms)
            ),
        ),
        (
            "return bottleneck",
            format!(
                "{}: {} of ACKs, enough for {} of payload",
                figures.return_bottleneck,
                rate(figures.return_bottleneck_bps),
                rate(figures.ack_limit_bps)
            ),
        ),
        ("BDP", format!("{} = {:.1} segments", bytes(figures.bdp_bytes), figures.bdp_segments)),
        (
            "window",
            format!(
                "at most {} = {} segments{connections}: {}",
                bytes(figures.window_bytes as f64),
                figures.window_segments,
                rate(figures.window_limit_bps)
            ),
        ),
        (
            "packet error rate",
            format!("{} of a full packet, {} of an ACK", per(figures.per), per(figures.ack_per)),
        ),
    ];
    rows.map(|(name, value)| vec![name.to_owned(), value]).into()
}

/// A probability in three digits.
fn per(per: f64) -> String {
    if per == 0.0 {
        "0".into()
    } else if per >= 1e-3 {
        format!("{per:.4}")
    } else {
        format!("{per:.2e}")
    }
}
