//! Tables of beams: totals, airtime by modulation and code, groups and terminals.

use beam::{BackgroundReport, BeamReport, DirectionReport, TerminalCounters};
use recording::{ExtraTable, TableDefinition, extra_table, jain_index};
use scenario::Scenario;
use scenario::model::{Beam, BeamGroup};
use units::Time;

extra_table! {
    /// Totals of beams, one row for each.
    pub(crate) Totals("beams") of Total {
        /// Name of the beam.
        beam: String,
        /// Number of terminals.
        terminals: u32,
        /// Symbols of the forward carrier in the run.
        symbols: f64,
        /// Share of them in frames with packets; from 0 to 1.
        airtime: f64,
        /// Share of the data fields of these frames that is padding; from 0 to 1.
        padding: f64,
        /// Rate of IP packets on the forward carrier in bit/s.
        forward_bps: f64,
        /// Rate of IP packets on the return channel in bit/s.
        return_bps: f64,
        /// Slots of the return channel.
        slots: u64,
        /// Slots of constant assignment (CRA).
        cra_slots: u64,
        /// Those of them that carried something.
        cra_used_slots: u64,
        /// Slots assigned to requests of rates (RBDC).
        rate_slots: u64,
        /// Those of them that carried something.
        rate_used_slots: u64,
        /// Slots assigned to requests of volumes (VBDC, AVBDC).
        volume_slots: u64,
        /// Those of them that carried something.
        volume_used_slots: u64,
        /// Slots of free capacity (FCA) that carried something.
        fca_used_slots: u64,
        /// Requests.
        requests: u64,
        /// Bursts by random access; all replicas of one are counted once.
        random_bursts: u64,
        /// Those of them that the gateway decoded.
        random_decoded: u64,
        /// Times that a terminal gave up random access.
        random_given_up: u64,
    }
}

extra_table! {
    /// Airtime of forward carriers, one row for each modulation and code that was in use.
    pub(crate) Airtimes("beam_modcods") of AirtimeRow {
        /// Name of the beam.
        beam: String,
        /// Modulation and code.
        modcod: String,
        /// Frames.
        frames: u64,
        /// Share of the carrier's time; from 0 to 1.
        airtime: f64,
        /// Bytes of packets and their headers.
        used_bytes: u64,
        /// Bytes of padding.
        padding_bytes: u64,
    }
}

extra_table! {
    /// Groups of terminals, one row for each direction.
    pub(crate) Groups("beam_groups") of GroupRow {
        /// Name of the beam.
        beam: String,
        /// Name of the group.
        group: String,
        /// `forward` or `return`.
        direction: String,
        /// Number of terminals.
        terminals: u32,
        /// Modulation and code at the start, or waveform; of the first cell, if a group is in
        /// several.
        modcod: String,
        /// Rate of IP packets of all terminals in bit/s.
        rate_bps: f64,
        /// 5th percentile over the terminals of their rates in bit/s.
        p5_rate_bps: f64,
        /// Median over the terminals of their rates in bit/s.
        p50_rate_bps: f64,
        /// 95th percentile over the terminals of their rates in bit/s.
        p95_rate_bps: f64,
        /// Jain index of the rates of the terminals.
        jain: f64,
        /// Packets sent.
        packets: u64,
        /// Packets that the queue dropped, because it was full or by active queue management.
        dropped_packets: u64,
        /// Packets that active queue management marked.
        marked_packets: u64,
        /// Packets that the signal was too weak for.
        lost_packets: u64,
        /// Median time from the arrival of a packet at the queue to the end of its transmission, in
        /// milliseconds.
        median_delay_ms: f64,
        /// 95th percentile of these times, in milliseconds.
        p95_delay_ms: f64,
        /// The longest of these times, in milliseconds.
        max_delay_ms: f64,
    }
}

extra_table! {
    /// Terminals, one row for each direction.
    pub(crate) Terminals("beam_terminals") of TerminalRow {
        /// Name of the beam.
        beam: String,
        /// Name of the terminal.
        terminal: String,
        /// `forward` or `return`.
        direction: String,
        /// Bytes of IP packets sent.
        bytes: u64,
        /// Packets sent.
        packets: u64,
        /// Packets that the queue dropped, because it was full or by active queue management.
        dropped_packets: u64,
        /// Packets that active queue management marked.
        marked_packets: u64,
        /// Packets that the signal was too weak for.
        lost_packets: u64,
        /// Mean time from the arrival of a packet at the queue to the end of its transmission, in
        /// milliseconds.
        mean_delay_ms: f64,
        /// The longest of these times, in milliseconds.
        max_delay_ms: f64,
    }
}

extra_table! {
    /// Classes of traffic, one row for each group and direction in which packets of the class were
    /// sent. Only of beams with classes.
    pub(crate) Classes("beam_classes") of ClassRow {
        /// Name of the beam.
        beam: String,
        /// Name of the class; `other` for packets of no class.
        class: String,
        /// Name of the group.
        group: String,
        /// `forward` or `return`.
        direction: String,
        /// Packets sent.
        packets: u64,
        /// Median time from the arrival of a packet at the queue to the end of its transmission, in
        /// milliseconds.
        median_delay_ms: f64,
        /// 95th percentile of these times, in milliseconds.
        p95_delay_ms: f64,
        /// The longest of these times, in milliseconds.
        max_delay_ms: f64,
    }
}

extra_table! {
    /// Transfers of terminals in the background, one row for each `[[flow]]`.
    pub(crate) InBackground("beam_background") of BackgroundRow {
        /// Name of the beam.
        beam: String,
        /// Name of the group.
        group: String,
        /// Name of the flow.
        flow: String,
        /// Transfers that have begun.
        transfers: u64,
        /// Those of them that the end of their session has cut short.
        cut: u64,
        /// Bytes of data of transfers that have ended.
        bytes: u64,
        /// Median time of a transfer in seconds, without those that were cut short.
        median_s: f64,
        /// 95th percentile of these times, in seconds.
        p95_s: f64,
    }
}

/// The tables of beams.
pub(super) const DEFINITIONS: [TableDefinition; 6] = [
    Totals::DEFINITION,
    Airtimes::DEFINITION,
    Groups::DEFINITION,
    Classes::DEFINITION,
    Terminals::DEFINITION,
    InBackground::DEFINITION,
];

/// The totals of beams after a run that lasted until `end`.
pub fn beam_tables(scenario: &Scenario, end: Time, reports: &[BeamReport]) -> Vec<ExtraTable> {
    let (mut totals, mut airtimes) = (Totals::default(), Airtimes::default());
    let (mut groups, mut terminals) = (Groups::default(), Terminals::default());
    let (mut classes, mut background) = (Classes::default(), InBackground::default());
    let elapsed = end.as_secs_f64();
    for (beam, report) in scenario.beams.iter().zip(reports) {
        totals.push(total(beam, report, elapsed));
        let modcods = beam.groups.first().map_or(&[][..], |one| one.signals[0].acm.modcods());
        let symbols = beam.forward.symbol_rate * elapsed;
        for (modcod, sent) in modcods.iter().zip(&report.airtime) {
            if sent.frames > 0 {
                airtimes.push(AirtimeRow {
                    beam: beam.name.clone(),
                    modcod: modcod.name.to_owned(),
                    frames: sent.frames,
                    airtime: share(sent.symbols as f64, symbols),
                    used_bytes: sent.used_bytes,
                    padding_bytes: sent.padding_bytes,
                });
            }
        }
        for (number, group) in beam.groups.iter().enumerate() {
            let modcod = group.signals[0].acm.choice(Time::ZERO).name;
            let waveform = beam.back.groups[number].waveform.name;
            groups.push(of_group(beam, (number, group), modcod, "forward", report, elapsed));
            groups.push(of_group(beam, (number, group), waveform, "return", report, elapsed));
        }
        of_classes(beam, report).for_each(|row| classes.push(row));
        of_background(beam, &report.background).for_each(|row| background.push(row));
        for (place, node) in beam.terminals.clone().enumerate() {
            for (direction, side) in sides(report) {
                let name = scenario.nodes[node].name.clone();
                terminals.push(of_terminal(beam, name, direction, &side.terminals[place]));
            }
        }
    }
    let tables = [
        totals.into_table(),
        airtimes.into_table(),
        groups.into_table(),
        classes.into_table(),
        terminals.into_table(),
        background.into_table(),
    ];
    tables.into_iter().filter_map(ExtraTable::filled).collect()
}

/// Rows of the classes of a beam with more than one.
fn of_classes<'a>(beam: &'a Beam, report: &'a BeamReport) -> impl Iterator<Item = ClassRow> + 'a {
    let names = if beam.classes.len() > 1 { &beam.classes[..] } else { &[] };
    let places = names.iter().enumerate().flat_map(move |(class, name)| {
        let groups = beam.groups.iter().enumerate();
        groups.map(move |(number, group)| (class, name, number, group))
    });
    places.flat_map(move |(class, name, number, group)| {
        sides(report).into_iter().filter_map(move |(direction, side)| {
            let (packets, delay) = &side.class_delays[number][class];
            let delay = delay.as_ref()?;
            Some(ClassRow {
                beam: beam.name.clone(),
                class: name.clone(),
                group: group.name.clone(),
                direction: direction.to_owned(),
                packets: *packets,
                median_delay_ms: delay.median,
                p95_delay_ms: delay.p95,
                max_delay_ms: delay.max,
            })
        })
    })
}

/// Rows of the flows in the background.
fn of_background<'a>(
    beam: &'a Beam,
    reports: &'a [BackgroundReport],
) -> impl Iterator<Item = BackgroundRow> + 'a {
    beam.background.iter().zip(reports).map(|(described, report)| {
        let times = report.times.summary(0).map(|summary| summary.per(1e9));
        BackgroundRow {
            beam: beam.name.clone(),
            group: beam.groups[described.group].name.clone(),
            flow: described.name.clone(),
            transfers: report.transfers,
            cut: report.cut,
            bytes: report.bytes,
            median_s: times.map_or(f64::NAN, |times| times.median),
            p95_s: times.map_or(f64::NAN, |times| times.p95),
        }
    })
}

fn sides(report: &BeamReport) -> [(&'static str, &DirectionReport); 2] {
    [("forward", &report.forward), ("return", &report.back)]
}

/// A part of a whole; zero of nothing.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn total(beam: &Beam, report: &BeamReport, elapsed: f64) -> Total {
    let symbols = beam.forward.symbol_rate * elapsed;
    let sum = |of: fn(&beam::forward::Airtime) -> u64| report.airtime.iter().map(of).sum::<u64>();
    let (used, padding) = (sum(|one| one.used_bytes), sum(|one| one.padding_bytes));
    let rate = |side: &DirectionReport| {
        share(side.terminals.iter().map(|one| one.bytes).sum::<u64>() as f64 * 8.0, elapsed)
    };
    // Without `..`, so that a new counter has to stand in the table.
    let beam::returning::SlotCounters {
        all,
        constant,
        constant_used,
        rate: rate_slots,
        rate_used,
        volume,
        volume_used,
        free_used,
        requests,
        random,
        random_decoded,
        random_given_up,
    } = report.slots;
    Total {
        beam: beam.name.clone(),
        terminals: u32::try_from(beam.terminals.len()).unwrap_or(u32::MAX),
        symbols,
        airtime: share(sum(|one| one.symbols) as f64, symbols),
        padding: share(padding as f64, (used + padding) as f64),
        forward_bps: rate(&report.forward),
        return_bps: rate(&report.back),
        slots: all,
        cra_slots: constant,
        cra_used_slots: constant_used,
        rate_slots,
        rate_used_slots: rate_used,
        volume_slots: volume,
        volume_used_slots: volume_used,
        fca_used_slots: free_used,
        requests,
        random_bursts: random,
        random_decoded,
        random_given_up,
    }
}

fn of_group(
    beam: &Beam,
    (number, group): (usize, &BeamGroup),
    modcod: &str,
    direction: &str,
    report: &BeamReport,
    elapsed: f64,
) -> GroupRow {
    let [forward, back] = sides(report).map(|(_, side)| side);
    let side = if direction == "forward" { forward } else { back };
    let first = group.terminals.start - beam.terminals.start;
    let members = &side.terminals[first..first + group.terminals.len()];
    let mut rates: Vec<f64> =
        members.iter().map(|one| share(one.bytes as f64 * 8.0, elapsed)).collect();
    let rate_bps = rates.iter().sum();
    let jain = jain_index(rates.iter().copied()).unwrap_or(f64::NAN);
    rates.sort_by(f64::total_cmp);
    let sum = |of: fn(&TerminalCounters) -> u64| members.iter().map(of).sum();
    let delay = side.delays[number].as_ref();
    GroupRow {
        beam: beam.name.clone(),
        group: group.name.clone(),
        direction: direction.to_owned(),
        terminals: u32::try_from(members.len()).unwrap_or(u32::MAX),
        modcod: modcod.to_owned(),
        rate_bps,
        p5_rate_bps: quantile(&rates, 0.05),
        p50_rate_bps: quantile(&rates, 0.5),
        p95_rate_bps: quantile(&rates, 0.95),
        jain,
        packets: sum(|one| one.packets),
        dropped_packets: sum(|one| one.dropped),
        marked_packets: sum(|one| one.marked),
        lost_packets: sum(|one| one.lost),
        median_delay_ms: delay.map_or(f64::NAN, |delay| delay.median),
        p95_delay_ms: delay.map_or(f64::NAN, |delay| delay.p95),
        max_delay_ms: delay.map_or(f64::NAN, |delay| delay.max),
    }
}

/// A quantile of sorted values, with linear interpolation.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = sorted[(below + 1).min(last)];
    sorted[below] + part * (above - sorted[below])
}

fn of_terminal(
    beam: &Beam,
    terminal: String,
    direction: &str,
    counters: &TerminalCounters,
) -> TerminalRow {
    let TerminalCounters { packets, bytes, dropped, marked, lost, delay, max_delay } = *counters;
    TerminalRow {
        beam: beam.name.clone(),
        terminal,
        direction: direction.to_owned(),
        bytes,
        packets,
        dropped_packets: dropped,
        marked_packets: marked,
        lost_packets: lost,
        mean_delay_ms: delay.as_millis_f64() / packets.max(1) as f64,
        max_delay_ms: max_delay.as_millis_f64(),
    }
}
