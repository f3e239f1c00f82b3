//! Switches: the paths of two routers, and when their packets move.

use std::fmt::{self, Display, Formatter};

use link::Seed;
use scenario::model::{Scenario, Switch, SwitchRule};
use scenario::{Hop, Routes, switch_moves};
use serde::Serialize;
use units::Time;

use super::bounds;
use super::text::{milliseconds, rate};

/// Moves that a terminal shows.
const SHOWN: usize = 6;

/// A switch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchExplanation {
    /// The two routers.
    pub between: [String; 2],
    /// The rule in words.
    pub rule: String,
    /// Its paths, the preferred one first.
    pub paths: Vec<SwitchPathExplanation>,
    /// Moves of each router with the seed of the scenario; none if only the run shows them.
    pub moves: Option<[Vec<MoveExplanation>; 2]>,
}

/// A path of a switch. Times are without any queue, and links as they are at the start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchPathExplanation {
    /// The node that it leads through.
    pub via: String,
    /// Names of the nodes from the first router to the second.
    pub route: Vec<String>,
    /// Names of the nodes from the second router to the first.
    pub return_route: Vec<String>,
    /// Propagation there and back, in milliseconds.
    pub round_trip_ms: f64,
    /// The least rate of a link from the first router to the second, in bit/s.
    pub forward_bps: u64,
    /// The least rate of a link from the second router to the first, in bit/s.
    pub backward_bps: u64,
}

/// A move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MoveExplanation {
    /// Its time in seconds.
    pub at_s: f64,
    /// The node of the path that carries the packets then.
    pub via: String,
}

/// All switches.
pub(crate) fn explain(scenario: &Scenario, routes: &Routes) -> Vec<SwitchExplanation> {
    let name = |node: usize| scenario.nodes[node].name.clone();
    let of = |switch: &Switch| {
        let paths = (0..switch.via.len()).map(|path| path_of(scenario, routes, (switch, path)));
        let moves = switch_moves(scenario, routes, switch, &Seed::new(scenario.seed));
        let explained = |(at, path): &(Time, usize)| MoveExplanation {
            at_s: at.since(Time::ZERO).as_secs_f64(),
            via: name(switch.via[*path]),
        };
        SwitchExplanation {
            between: switch.ends.map(name),
            rule: rule(&switch.rule),
            paths: paths.collect(),
            moves: moves.map(|ends| ends.map(|moves| moves.iter().map(explained).collect())),
        }
    };
    scenario.switches.iter().map(of).collect()
}

fn path_of(
    scenario: &Scenario,
    routes: &Routes,
    (switch, path): (&Switch, usize),
) -> SwitchPathExplanation {
    let links = &scenario.links;
    let name = |node: usize| scenario.nodes[node].name.clone();
    let ways = [0, 1].map(|end| switch.hops(scenario, routes, (end, path)));
    let nodes = |end: usize| {
        let hops = ways[end].iter().map(|hop| hop.to(links));
        std::iter::once(switch.ends[end]).chain(hops).map(name).collect()
    };
    let delay = |hop: &Hop| hop.direction(links).delay.as_millis_f64();
    let least = |hops: &[Hop]| {
        // Events may raise the rate of a link.
        let rates = hops.iter().map(|hop| bounds::peak(hop.direction(links)) as u64);
        rates.min().unwrap_or_default()
    };
    SwitchPathExplanation {
        via: name(switch.via[path]),
        route: nodes(0),
        return_route: nodes(1),
        round_trip_ms: ways.iter().flatten().map(delay).sum(),
        forward_bps: least(&ways[0]),
        backward_bps: least(&ways[1]),
    }
}

fn rule(rule: &SwitchRule) -> String {
    match rule {
        SwitchRule::Times { moves: _, lag } if lag.as_nanos() == 0 => "at known times".to_owned(),
        SwitchRule::Times { moves: _, lag } => {
            format!("at known times, the second router {lag} later")
        }
        SwitchRule::Outages { delay, hold } => {
            format!("by outages, noticed after {delay}, with a hold of {hold} after their end")
        }
        SwitchRule::Bfd { interval, multiplier, hold } => {
            let packets = if *multiplier == 1 { "interval" } else { "intervals" };
            format!(
                "by BFD, a packet each {interval}, down after {multiplier} {packets} without one, with a hold of \
                 {hold}"
            )
        }
    }
}

/// The first moves of a router in words.
fn moves_text(moves: &[MoveExplanation]) -> String {
    let shown = moves.iter().take(SHOWN).map(|one| format!("to {} at {}s", one.via, one.at_s));
    let shown: Vec<_> = shown.collect();
    match moves.len() {
        0 => "none".to_owned(),
        number if number > SHOWN => format!("{number} moves, the first ones {}", shown.join(", ")),
        _ => shown.join(", "),
    }
}

impl Display for SwitchExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { between: [first, second], rule, paths, moves } = self;
        writeln!(f, "\nSwitch between {first} and {second}")?;
        writeln!(f, "  rule    {rule}")?;
        for path in paths {
            let SwitchPathExplanation { via, route, return_route, .. } = path;
            let back: Vec<_> = route.iter().rev().cloned().collect();
            let back = match back == *return_route {
                true => String::new(),
                false => format!(", back {}", return_route.join(" -> ")),
            };
            let rates = [path.forward_bps, path.backward_bps].map(|bps| rate(bps as f64));
            let rates = match rates[0] == rates[1] {
                true => rates[0].clone(),
                false => format!("{} and back {}", rates[0], rates[1]),
            };
            let trip = milliseconds(path.round_trip_ms);
            writeln!(
                f,
                "  {via:7} {}{back}: round trip {trip}, at most {rates}",
                route.join(" -> ")
            )?;
        }
        match moves {
            None => writeln!(f, "  moves   in the run only"),
            Some([one, other]) if one == other => writeln!(f, "  moves   {}", moves_text(one)),
            Some([one, other]) => {
                writeln!(f, "  moves   of {first}: {}", moves_text(one))?;
                writeln!(f, "          of {second}: {}", moves_text(other))
            }
        }
    }
}

/// A switch whose packets never move.
pub(crate) fn without_moves(switch: &SwitchExplanation) -> Option<String> {
    let moves = switch.moves.as_ref()?;
    let [first, second] = &switch.between;
    moves.iter().all(Vec::is_empty).then(|| {
        format!(
            "the switch between {first} and {second} never moves packets: its paths have no outage, or its moves \
             are after the end"
        )
    })
}
