//! Beams before a run: capacity by scheduler, what each group gets, and the delay of a grant.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use beam::{Allowance, Classes, Plan, capacity};
use scenario::model::{
    Beam, BeamGroup, CellSignal, DELAY_BEHIND_TERMINALS, Flow, RATE_BEHIND_TERMINALS, Scenario, Way,
};
use serde::Serialize;
use units::Time;

use crate::about::About;
use crate::mechanism::channels::lost_by_signal;
use crate::text::{rate, short};

/// Bytes of a full packet, for which capacity is computed.
const PACKET: u32 = 1500;
/// Bytes of an ACK without options.
const ACK: u32 = 40;

/// A beam.
#[derive(Clone, Debug, Serialize)]
pub struct BeamExplanation {
    /// Its name.
    pub name: String,
    /// The node of its gateway.
    pub gateway: String,
    /// Number of terminals.
    pub terminals: usize,
    /// Symbols per second of the forward carrier.
    pub symbol_rate: f64,
    /// Rate of full IP packets in bit/s if all terminals have equal rates.
    pub equal_rate_bps: f64,
    /// The same if all terminals have equal airtime.
    pub equal_airtime_bps: f64,
    /// Slots of a frame of the return channel.
    pub slots: u32,
    /// Rate of the return channel in bit/s if all slots go round among the terminals.
    pub return_bps: f64,
    /// Share of its slots in constant assignment; from 0 to 1.
    pub constant_share: f64,
    /// Rates of the plans of all terminals, divided by `equal_rate_bps`; `None` if a terminal has
    /// no plan.
    pub oversubscription: Option<f64>,
    /// Classes of traffic; empty without.
    pub classes: Vec<ClassExplanation>,
    /// Random access; `None` without.
    pub random_access: Option<RandomAccess>,
    /// The background; `None` without.
    pub background: Option<BackgroundExplanation>,
    /// Groups of terminals.
    pub groups: Vec<GroupExplanation>,
}

/// A class of traffic.
#[derive(Clone, Debug, Serialize)]
pub struct ClassExplanation {
    /// Its name.
    pub name: String,
    /// Its weight; `None` if classes are strict.
    pub weight: Option<u32>,
}

/// The plan of a subscriber in one direction.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PlanExplanation {
    /// Rate in bit/s.
    pub rate_bps: f64,
    /// Seconds at this rate until the allowance is used up, from the start of the run on; `None`
    /// without an allowance.
    pub allowance_lasts_s: Option<f64>,
    /// Rate in bit/s of a terminal that always sends, after that: the larger of the reduced rate
    /// and the leak of the allowance.
    pub reduced_bps: Option<f64>,
}

impl PlanExplanation {
    fn of(plan: Plan) -> Self {
        let rate_bps = plan.bucket.rate.bits_per_second() as f64;
        let leak = |one: Allowance| one.leak().bits_per_second() as f64;
        let lasts = |one: Allowance| {
            let left = one.volume.get().saturating_sub(one.used.get());
            left as f64 * 8.0 / (rate_bps - leak(one))
        };
        let reduced = |one: Allowance| leak(one).max(one.reduced_rate.bits_per_second() as f64);
        let allowance_lasts_s = plan.allowance.map(lasts);
        Self { rate_bps, allowance_lasts_s, reduced_bps: plan.allowance.map(reduced) }
    }
}

impl Display for PlanExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", rate(self.rate_bps))?;
        if let (Some(lasts), Some(reduced)) = (self.allowance_lasts_s, self.reduced_bps) {
            write!(f, " for {}s, then {}", short(lasts, 1), rate(reduced))?;
        }
        Ok(())
    }
}

/// Random access to the return channel.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RandomAccess {
    /// Name of its scheme.
    pub scheme: &'static str,
    /// Bursts of each packet.
    pub replicas: u32,
    /// Slots of a frame.
    pub slots: u32,
    /// Load in packets per slot that the gateway keeps to; `None` without a control.
    pub load: Option<f64>,
}

/// Terminals in the background.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BackgroundExplanation {
    /// Number of terminals.
    pub terminals: usize,
    /// Share of the forward carrier that they offer, if transfers take no time.
    pub load: f64,
}

/// A group of terminals.
#[derive(Clone, Debug, Serialize)]
pub struct GroupExplanation {
    /// Its name.
    pub name: String,
    /// Number of terminals.
    pub terminals: usize,
    /// Modulation and code at the start.
    pub modcod: &'static str,
    /// Bits of full IP packets in a symbol.
    pub efficiency: f64,
    /// Share of the airtime of the group with equal rates; from 0 to 1.
    pub airtime: f64,
    /// Rate of a terminal in bit/s, if all of them download with equal airtime.
    pub equal_airtime_bps: f64,
    /// Waveform of the return channel.
    pub waveform: &'static str,
    /// The highest rate of a terminal on the return channel in bit/s.
    pub carrier_bps: f64,
    /// Mean time in milliseconds that an ACK of 40 bytes waits and is sent in an idle channel.
    pub ack_delay_ms: f64,
    /// Number of weather cells that it is in; 0 without cells.
    pub cells: usize,
    /// Plan to the terminal.
    pub down: Option<PlanExplanation>,
    /// Plan from the terminal.
    pub up: Option<PlanExplanation>,
}

/// A carrier of a beam on the way of packets.
pub(crate) struct CarrierWay {
    pub name: String,
    /// Seconds from the queue of an idle carrier to the far end.
    pub delay: f64,
    /// Seconds that a packet takes of the carrier.
    pub time: f64,
    /// Seconds from the queue to the far end, at least.
    pub least_delay: f64,
    /// Seconds that a packet takes of the carrier, at least: with the best signal.
    pub least_time: f64,
    /// Flows that send their data on it.
    pub flows: usize,
    /// Queue before it in bytes; `None` if it has no limit.
    pub queue: Option<f64>,
    /// Number of queues of this size before it. Each terminal that flows send their data to has one
    /// of its own.
    pub queues: usize,
}

/// The network between a terminal and the host behind it.
fn behind(scenario: &Scenario, terminal: usize, packet: f64) -> CarrierWay {
    let ends_here = |flow: &&Flow| [flow.from, flow.to].contains(&terminal);
    let time = packet * 8.0 / RATE_BEHIND_TERMINALS.bits_per_second() as f64;
    CarrierWay {
        name: format!("network behind {}", scenario.nodes[terminal].name),
        delay: DELAY_BEHIND_TERMINALS.as_secs_f64() + time,
        time,
        least_delay: DELAY_BEHIND_TERMINALS.as_secs_f64(),
        least_time: time,
        flows: scenario.flows.iter().filter(ends_here).count(),
        queue: None,
        queues: 1,
    }
}

/// The carriers of beams on the way of packets that have these lengths in bytes: on the channel of
/// a terminal which sends, and on the carrier to one which receives.
pub(crate) fn ways(
    scenario: &Scenario,
    (from, to): Way,
    [packet, on_forward]: [f64; 2],
) -> Vec<CarrierWay> {
    if from == to {
        return vec![behind(scenario, to, packet)];
    }
    let group_of = |node: usize| {
        let (_, beam) = scenario.beam_of(node)?;
        let number = beam.groups.iter().position(|group| group.terminals.contains(&node))?;
        Some((beam, number))
    };
    let back = group_of(from).map(|(beam, number)| {
        let group = &beam.back.groups[number];
        let frame = beam.back.frame.as_secs_f64();
        let of_bytes = |bytes| f64::from(8 * bytes * beam.back.slots_of_carrier()) / frame;
        let rate = of_bytes(group.waveform.net_bytes());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a packet")]
        let waits = beam.back.lone_delay(number, &members(beam), packet as u32);
        CarrierWay {
            name: format!("return channel of {}", beam.name),
            delay: beam.back.delay.as_secs_f64() + waits,
            time: packet * 8.0 / rate,
            least_delay: beam.back.delay.as_secs_f64(),
            // Packets that share a burst share its headers.
            least_time: packet * 8.0 / of_bytes(group.waveform.payload),
            // Its terminal alone sends on a carrier.
            flows: scenario.flows.iter().filter(|flow| flow.from == from).count(),
            queue: Some(group.buffer as f64),
            queues: 1,
        }
    });
    let forward = group_of(to).map(|(beam, number)| {
        let group = &beam.groups[number];
        let symbols = on_forward * 8.0 / efficiency(beam, group);
        let receivers = scenario.flows.iter().map(|flow| flow.to);
        let receivers: Vec<_> = receivers.filter(|to| beam.terminals.contains(to)).collect();
        let frame = beam.forward.duration(group.signals[0].acm.choices()[0].1).as_secs_f64();
        CarrierWay {
            name: format!("forward carrier of {}", beam.name),
            delay: beam.forward.delay.as_secs_f64() + frame,
            time: symbols / beam.forward.symbol_rate,
            least_delay: beam.forward.delay.as_secs_f64(),
            least_time: on_forward * 8.0 / best_efficiency(beam, group) / beam.forward.symbol_rate,
            flows: receivers.len(),
            queue: Some(beam.forward.buffer as f64),
            queues: receivers.iter().collect::<BTreeSet<_>>().len(),
        }
    });
    back.into_iter().chain(forward).collect()
}

/// Number of terminals of each group.
fn members(beam: &Beam) -> Vec<u64> {
    beam.groups.iter().map(|group| group.terminals.len() as u64).collect()
}

/// All beams of a scenario.
pub(crate) fn explain(scenario: &Scenario) -> Vec<BeamExplanation> {
    scenario.beams.iter().map(|beam| of_beam(scenario, beam)).collect()
}

/// Groups with a noise temperature and without rain, with their numbers among those of the beam.
pub(crate) fn rainless(beam: &Beam) -> impl Iterator<Item = (usize, &BeamGroup)> {
    let is_dry = |signal: &CellSignal| {
        let signal = signal.acm.signal();
        signal.system_temperature.is_some() && signal.fade.deepest().1 <= 0.0
    };
    let groups = beam.groups.iter().enumerate();
    groups.filter(move |(_, group)| group.signals.iter().all(is_dry))
}

/// Groups of terminals whose signal is too weak for any choice of the modem during a part of the
/// run: the group, its name and the reason.
pub(crate) fn weak_signals(scenario: &Scenario) -> Vec<(About, String, String)> {
    let mut found = Vec::new();
    for (number, beam) in scenario.beams.iter().enumerate() {
        for (place, group) in beam.groups.iter().enumerate() {
            let lost = group.signals.iter().filter_map(|one| {
                let reason = lost_by_signal(scenario.duration, &one.acm)?;
                Some((one.cell.as_deref(), reason))
            });
            found.extend(lost.map(|(cell, reason)| {
                let cell = cell.map_or_else(String::new, |cell| format!(" in {cell}"));
                let name = format!("group {}{cell} of {}", group.name, beam.name);
                (About::Group(number, place), name, format!("on the forward carrier, {reason}"))
            }));
        }
    }
    found
}

/// Bits of full IP packets in a symbol at the start, in a cell.
fn efficiency_in(beam: &Beam, signal: &CellSignal) -> f64 {
    let frame = beam.forward.frames[signal.acm.choices()[0].1];
    frame.efficiency() * beam.forward.gse.share(frame.bytes, PACKET)
}

/// The same of a group whose terminals have equal rates: airtime is the inverse of the efficiency.
fn efficiency(beam: &Beam, group: &BeamGroup) -> f64 {
    1.0 / group.shares().map(|(share, one)| share / efficiency_in(beam, one)).sum::<f64>()
}

/// The most bits that a symbol carries to a terminal of a group at any time, in any cell.
fn best_efficiency(beam: &Beam, group: &BeamGroup) -> f64 {
    let choices = group.signals.iter().flat_map(|signal| signal.acm.choices());
    choices.map(|(_, choice)| beam.forward.frames[*choice].efficiency()).fold(0.0, f64::max)
}

/// Shares of the terminals of a beam, and their efficiencies.
fn mix(beam: &Beam) -> Vec<(f64, f64)> {
    let all = beam.terminals.len() as f64;
    let of_group = |group: &BeamGroup| {
        let part = group.terminals.len() as f64 / all;
        let cells = group.shares().map(|(share, one)| (part * share, efficiency_in(beam, one)));
        cells.collect::<Vec<_>>()
    };
    beam.groups.iter().flat_map(of_group).collect()
}

/// A group on the forward carrier and on the return channel.
type Groups<'a> = (&'a BeamGroup, &'a beam::returning::Group);

fn of_beam(scenario: &Scenario, beam: &Beam) -> BeamExplanation {
    let all = beam.terminals.len() as f64;
    let share = |group: &BeamGroup| group.terminals.len() as f64 / all;
    let mix = mix(beam);
    let symbol_rate = beam.forward.symbol_rate;
    let equal_rate_bps = capacity::by_bytes(symbol_rate, &mix);
    let back = &beam.back;
    let frame = back.frame.as_secs_f64();
    let slot_rate = |bytes: u32, slots: u32| f64::from(8 * bytes) * f64::from(slots) / frame;
    let groups = || beam.groups.iter().zip(&back.groups);
    let constant: f64 = groups()
        .map(|(group, settings)| {
            back.slots_of_rate(settings.constant as f64, settings) * group.terminals.len() as f64
        })
        .sum();
    let return_bps = groups()
        .map(|(group, settings)| {
            share(group) * slot_rate(settings.waveform.net_bytes(), back.slots())
        })
        .sum();
    let members = members(beam);
    let explain = |(number, (group, settings)): (usize, Groups<'_>)| GroupExplanation {
        name: group.name.clone(),
        terminals: group.terminals.len(),
        modcod: group.signals[0].acm.choice(Time::ZERO).name,
        efficiency: efficiency(beam, group),
        airtime: share(group) / efficiency(beam, group) * equal_rate_bps / symbol_rate,
        equal_airtime_bps: symbol_rate / all
            * group.shares().map(|(part, one)| part * efficiency_in(beam, one)).sum::<f64>(),
        waveform: settings.waveform.name,
        carrier_bps: slot_rate(settings.waveform.net_bytes(), back.slots_of_carrier()),
        ack_delay_ms: back.lone_delay(number, &members, ACK) * 1e3,
        cells: group.signals.iter().filter(|one| one.cell.is_some()).count(),
        down: plan_of(beam, group).map(PlanExplanation::of),
        up: settings.plan.map(PlanExplanation::of),
    };
    let plans = beam.groups.iter().filter_map(|group| {
        let rate = plan_of(beam, group)?.bucket.rate.bits_per_second() as f64;
        Some(rate * group.terminals.len() as f64)
    });
    let sold: f64 = plans.sum();
    let has_plans = beam.forward.plans.iter().all(Option::is_some);
    BeamExplanation {
        name: beam.name.clone(),
        gateway: scenario.nodes[beam.gateway].name.clone(),
        terminals: beam.terminals.len(),
        symbol_rate,
        equal_rate_bps,
        equal_airtime_bps: capacity::by_airtime(symbol_rate, &mix),
        slots: back.slots(),
        return_bps,
        constant_share: constant / f64::from(back.slots().max(1)),
        random_access: back.access.map(|access| RandomAccess {
            scheme: access.scheme.name(),
            replicas: access.scheme.replicas(),
            slots: access.slots,
            load: access.load,
        }),
        background: beam.background_load().map(|load| {
            let groups = beam.groups.iter().filter(|group| group.is_background);
            let terminals = groups.map(|group| group.terminals.len()).sum();
            BackgroundExplanation { terminals, load }
        }),
        oversubscription: has_plans.then_some(sold / equal_rate_bps),
        classes: classes(beam),
        groups: groups().enumerate().map(explain).collect(),
    }
}

/// The plan of a group on the forward carrier.
fn plan_of(beam: &Beam, group: &BeamGroup) -> Option<Plan> {
    let number = beam.groups.iter().position(|one| one.terminals == group.terminals)?;
    beam.forward.plans[number]
}

/// The classes of a beam with more than one.
fn classes(beam: &Beam) -> Vec<ClassExplanation> {
    let names = beam.classes.iter().enumerate().filter(|_| beam.classes.len() > 1);
    let weight = |class| match &beam.forward.classes {
        Classes::Strict(_) => None,
        weighted @ Classes::Weighted(_) => Some(weighted.weight(class)),
    };
    names
        .map(|(class, name)| ClassExplanation { name: name.clone(), weight: weight(class) })
        .collect()
}

impl Display for BeamExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, gateway, terminals, symbol_rate, slots, .. } = self;
        writeln!(f, "\nBeam {name}: {terminals} terminals behind {gateway}")?;
        writeln!(
            f,
            "  forward: {} Mbaud, {} with equal rates, {} with equal airtime",
            short(symbol_rate / 1e6, 3),
            rate(self.equal_rate_bps),
            rate(self.equal_airtime_bps),
        )?;
        writeln!(
            f,
            "  return:  {slots} slots in a frame, {}, {} % of them in constant assignment",
            rate(self.return_bps),
            short(self.constant_share * 100.0, 1),
        )?;
        if let Some(RandomAccess { scheme, replicas, slots, load }) = self.random_access {
            let load = load.map_or("no control of the load".to_owned(), |load| {
                format!("at most {load} packets per slot")
            });
            writeln!(
                f,
                "  random:  {scheme} with {replicas} bursts of each packet, {slots} slots in a frame, {load}"
            )?;
        }
        if let Some(BackgroundExplanation { terminals, load }) = self.background {
            writeln!(
                f,
                "  in the background: {terminals} terminals, which offer {} % of the forward carrier",
                short(load * 100.0, 1)
            )?;
        }
        if !self.classes.is_empty() {
            let name = |class: &ClassExplanation| match class.weight {
                Some(weight) => format!("{} (weight {weight})", class.name),
                None => class.name.clone(),
            };
            let names: Vec<_> = self.classes.iter().map(name).collect();
            let order = if self.classes[0].weight.is_some() { "weighted" } else { "strict" };
            writeln!(f, "  classes: {order}, {}", names.join(", "))?;
        }
        if let Some(oversubscription) = self.oversubscription {
            let times = short(oversubscription, 2);
            writeln!(f, "  plans:   {times} times the rate of the forward carrier")?;
        }
        for group in &self.groups {
            writeln!(f, "  {group}")?;
        }
        Ok(())
    }
}

impl Display for GroupExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({} terminals): {}, {} % of the airtime with equal rates, {} each with equal airtime; \
             return {}, at most {} each, an ACK takes {}ms on average in an idle channel",
            self.name,
            self.terminals,
            self.modcod,
            short(self.airtime * 100.0, 1),
            rate(self.equal_airtime_bps),
            self.waveform,
            rate(self.carrier_bps),
            short(self.ack_delay_ms, 1),
        )?;
        if self.cells > 0 {
            write!(f, "; {} weather cells", self.cells)?;
        }
        for (way, plan) in [("down", self.down), ("up", self.up)] {
            if let Some(plan) = plan {
                write!(f, "; plan {way} {plan}")?;
            }
        }
        Ok(())
    }
}
