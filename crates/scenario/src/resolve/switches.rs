//! Switches: two routers with several paths between them.

use std::path::Path as FilePath;

use language::error::Problem;
use language::path::Path;
use language::suggest;
use units::Span;

use super::channels::{Channels, unreadable};
use super::{Numbers, flows};
use crate::document::{self, Document};
use crate::fade::{Cell, Fault, table};
use crate::given::located;
use crate::model::{Address, Flow, HintSource, Move, Scenario, Switch, SwitchRule};
use crate::routes::{Hop, Routes, routes};

/// Most switches: the paths of each have addresses.
const MOST: usize = 64;
/// Moves of one entry or file; more are a slip of the unit.
const MOST_MOVES: u64 = 1_000_000;
/// The last second of a file: 30 years.
const LAST: f64 = 1e9;

/// The key of a switch.
fn key(number: usize) -> Path {
    Path::entry("switch", number)
}

/// All switches. Their addresses join `addresses`.
pub(super) fn resolve(
    document: &Document,
    numbers: &Numbers,
    channels: &Channels<'_>,
    addresses: &mut Vec<Address>,
    problems: &mut Vec<Problem>,
) -> Vec<Switch> {
    let written = document.switch.iter().enumerate();
    if document.switch.len() > MOST {
        let found = document.switch.len().to_string();
        let path = Path::default().key("switch");
        problems.push(Problem::new(path, format!("at most {MOST} switches"), found));
        return Vec::new();
    }
    if !document.switch.is_empty() && !document.beam.is_empty() {
        let problem = Problem::new(Path::default().key("switch"), "no switch", "one");
        problems.push(problem.because("this scenario has a beam, whose terminals have one path"));
    }
    let resolved = written.filter_map(|(number, switch)| {
        let place = Place { written: switch, path: key(number), numbers };
        let found = problems.len();
        let ends = place.ends(problems)?;
        let via = place.via(ends, problems)?;
        let rule = place.rule(channels, document.duration, problems)?;
        if problems.len() > found {
            return None;
        }
        let towards = [ends[1], ends[0]].map(|node| {
            let first = numbers.len() + addresses.len();
            addresses.extend(via.iter().map(|via| Address { node, via: *via }));
            (first..first + via.len()).collect()
        });
        Some(Switch { ends, via, towards, rule })
    });
    resolved.collect()
}

/// A switch as it is written.
struct Place<'a> {
    written: &'a document::Switch,
    path: Path,
    numbers: &'a Numbers,
}

impl Place<'_> {
    fn ends(&self, problems: &mut Vec<Problem>) -> Option<[usize; 2]> {
        let path = self.path.key("between");
        let names = self.written.between.each_ref().map(|name| &name.0);
        let first = flows::node(names[0], self.numbers, path.index(0), problems);
        let second = flows::node(names[1], self.numbers, path.index(1), problems);
        let ends = [first?, second?];
        if ends[0] == ends[1] {
            let found = format!("{:?} twice", names[0]);
            problems.push(Problem::new(path, "two different nodes", found));
            return None;
        }
        Some(ends)
    }

    fn via(&self, ends: [usize; 2], problems: &mut Vec<Problem>) -> Option<Vec<usize>> {
        let mut via = Vec::new();
        for (i, name) in self.written.via.iter().enumerate() {
            let path = self.path.key("via").index(i);
            let node = flows::node(&name.0, self.numbers, path.clone(), problems)?;
            if via.contains(&node) {
                let found = format!("{:?} for the second time", name.0);
                problems.push(Problem::new(path, "a node that is not in the list", found));
                return None;
            }
            if ends.contains(&node) {
                let expected = "a node between the two routers";
                problems.push(Problem::new(path, expected, format!("{:?}", name.0)));
                return None;
            }
            via.push(node);
        }
        Some(via)
    }

    /// The one rule of the switch.
    fn rule(
        &self,
        channels: &Channels<'_>,
        duration: Span,
        problems: &mut Vec<Problem>,
    ) -> Option<SwitchRule> {
        let document::Switch { event, file, lag, outages, bfd, .. } = self.written;
        let present = [
            ("event", !event.is_empty()),
            ("file", file.is_some()),
            ("outages", outages.is_some()),
            ("bfd", bfd.is_some()),
        ];
        let keys: Vec<_> = present.iter().filter(|(_, is)| *is).map(|(key, _)| *key).collect();
        if keys.len() != 1 {
            let expected = "one of `event`, `file`, `outages` and `bfd`";
            let found = if keys.is_empty() { "none of them".to_owned() } else { keys.join(", ") };
            problems.push(Problem::new(self.path.clone(), expected, found));
            return None;
        }
        if let (Some(lag), "outages" | "bfd") = (lag, keys[0]) {
            let problem = Problem::new(
                self.path.key("lag"),
                format!("no `lag` with `{}`", keys[0]),
                format!("\"{lag}\""),
            );
            problems.push(problem.because("only times of a clock can be late"));
        }
        let times = |moves| SwitchRule::Times { moves, lag: lag.unwrap_or_default() };
        if let Some(file) = file {
            let path = self.path.key("file");
            let file = located(channels.tree.nearest(&path), channels.directory, &file.0);
            let moves = self.of_file(&file).map_err(|fault| {
                problems.push(*unreadable(*fault, &file, &path));
            });
            return moves.ok().map(times);
        }
        if let Some(document::Outages { delay, hold }) = *outages {
            return Some(SwitchRule::Outages { delay, hold });
        }
        if let Some(document::Bfd { interval, multiplier, hold }) = *bfd {
            return Some(SwitchRule::Bfd { interval, multiplier, hold });
        }
        self.events(duration, problems).map(times)
    }

    /// The number of the path with this name.
    fn path_of(&self, name: &str) -> Result<usize, Option<String>> {
        let names = || self.written.via.iter().map(|name| name.0.as_str());
        names().position(|one| one == name).ok_or_else(|| suggest::nearest(name, names()))
    }

    fn expected_path(&self) -> String {
        let names: Vec<_> = self.written.via.iter().map(|one| format!("{:?}", one.0)).collect();
        format!("one of {}", names.join(", "))
    }

    fn events(&self, duration: Span, problems: &mut Vec<Problem>) -> Option<Vec<Move>> {
        let mut moves = Vec::new();
        let mut before = Span::ZERO;
        for (number, entry) in self.written.event.iter().enumerate() {
            let path = self.path.key("event").index(number);
            if entry.at <= before {
                let expected = format!("a time after that of the event before, \"{before}\"");
                let found = format!("\"{}\"", entry.at);
                problems.push(Problem::new(path.key("at"), expected, found));
            }
            before = entry.at;
            let left = duration.saturating_sub(entry.at).as_nanos();
            if let Some(every) = entry.every
                && left.div_ceil(every.as_nanos()) > MOST_MOVES
            {
                let least = Span::from_nanos(left.div_ceil(MOST_MOVES));
                let expected = format!("at least \"{least}\" with this `duration`");
                problems.push(Problem::new(path.key("every"), expected, format!("\"{every}\"")));
            }
            match self.path_of(&entry.via.0) {
                Ok(path) => moves.push(Move { at: entry.at, every: entry.every, path }),
                Err(near) => {
                    let found = format!("{:?}", entry.via.0);
                    let problem = Problem::new(path.key("via"), self.expected_path(), found);
                    problems.push(problem.suggest(near));
                }
            }
        }
        (moves.len() == self.written.event.len()).then_some(moves)
    }

    /// The moves in a file.
    fn of_file(&self, file: &FilePath) -> Result<Vec<Move>, Box<Fault>> {
        let table = table(file, "the columns `t_s` and `via`")?;
        let column = |name: &str| {
            let place = table.names.iter().position(|one| one == name);
            let found = || format!("the columns {}", table.names.join(", "));
            let expected = format!("a column `{name}`");
            place.ok_or_else(|| Box::new(Fault::new(table.header, expected, found())))
        };
        let (time, via) = (column("t_s")?, column("via")?);
        let mut moves: Vec<Move> = Vec::new();
        for (line, cells) in &table.rows {
            let seconds = cells[time].number(*line, "a time in s", 0.0..=LAST)?;
            let at = Span::from_secs_f64(seconds);
            if let Some(last) = moves.last().filter(|last| last.at >= at) {
                let expected = format!("a time after {} s", last.at.as_secs_f64());
                return Err(Fault::new(Some(*line), expected, format!("{seconds} s")).into());
            }
            let name = match &cells[via] {
                Cell::Text(text) => text.clone(),
                Cell::Number(number) => number.to_string(),
                Cell::Missing | Cell::Other(_) => String::new(),
            };
            let path = self.path_of(&name).map_err(|near| {
                let near = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
                let found = format!("{name:?}{near}");
                Fault::new(Some(*line), format!("in `via` {}", self.expected_path()), found)
            })?;
            moves.push(Move { at, every: None, path });
        }
        if moves.is_empty() {
            return Err(Fault::new(None, "at least one row", "none").into());
        }
        Ok(moves)
    }
}

/// Checks the paths of all switches, and that flows cross them.
pub(super) fn check(scenario: &Scenario, entries: &[usize], problems: &mut Vec<Problem>) {
    if scenario.switches.is_empty() {
        return;
    }
    let routes = routes(scenario);
    for (number, switch) in scenario.switches.iter().enumerate() {
        let found = problems.len();
        problems.extend(crooked(scenario, &routes, switch, &key(number)));
        if problems.len() == found {
            problems.extend(inside(scenario, &routes, switch, &key(number)));
            problems.extend(uncrossed(scenario, &routes, switch, &key(number)));
            problems.extend(of_network(scenario, &key(number)));
            problems.extend(unknown_moves(scenario, &routes, switch, entries));
        }
    }
}

/// A path that does not lead through its node from one router to the other, and a first path that
/// is not on the route without the switch.
fn crooked(scenario: &Scenario, routes: &Routes, switch: &Switch, path: &Path) -> Option<Problem> {
    let links = &scenario.links;
    let name = |node: usize| format!("{:?}", scenario.nodes[node].name);
    let [first, second] = switch.ends.map(name);
    let mut before: Vec<[Vec<Hop>; 2]> = Vec::new();
    for (number, via) in switch.via.iter().enumerate() {
        let hops =
            [0, 1].map(|end| routes.path(switch.ends[end], switch.towards[end][number], links));
        let problem = |expected: String, reason: &str| {
            let problem = Problem::new(path.key("via").index(number), expected, name(*via));
            Some(problem.because(reason.to_owned()))
        };
        let leads = |hops: &Vec<Hop>, end: usize| {
            let starts = || hops.iter().map(|hop| hop.from(links));
            let turns = starts().skip(1).any(|node| switch.ends.contains(&node));
            starts().skip(1).any(|node| node == *via)
                && !turns
                && hops.last().is_some_and(|hop| hop.to(links) == switch.ends[1 - end])
        };
        if !(leads(&hops[0], 0) && leads(&hops[1], 1)) {
            let expected = format!("a node between {first} and {second} in both directions");
            let reason =
                "packets take the shortest route to the node, and from there to the router";
            return problem(expected, reason);
        }
        if number == 0 {
            let plain =
                [0, 1].map(|end| routes.path(switch.ends[end], switch.ends[1 - end], links));
            if plain != hops {
                let expected = format!("a node on the shortest route between {first} and {second}");
                return problem(expected, "the first path is the route without the switch");
            }
        }
        if let Some(twin) = before.iter().position(|other| *other == hops) {
            let expected =
                format!("a node that is not on the path through {}", name(switch.via[twin]));
            return problem(expected, "both paths take the same links");
        }
        before.push(hops);
    }
    None
}

/// Node on a path of a switch that knows one route only.
fn inside(scenario: &Scenario, routes: &Routes, switch: &Switch, path: &Path) -> Option<Problem> {
    let links = &scenario.links;
    let mut nodes = (0..switch.via.len()).flat_map(|number| {
        let ends = [0, 1].into_iter();
        ends.flat_map(move |end| routes.path(switch.ends[end], switch.towards[end][number], links))
            .map(|hop| hop.from(links))
            .filter(|node| !switch.ends.contains(node))
    });
    let switches = || scenario.switches.iter().flat_map(|other| other.ends);
    let tunnels = || scenario.tunnels.iter().flat_map(|tunnel| tunnel.ends);
    nodes.find_map(|node| {
        let (what, reason) = if scenario.nodes[node].proxy.is_some() {
            ("a split proxy", "it would see a part of its connections")
        } else if switches().any(|end| end == node) {
            ("a router of another switch", "switches have no paths in common")
        } else if tunnels().any(|end| end == node) {
            ("an end of a tunnel", "it would see a part of its packets")
        } else {
            return None;
        };
        let name = &scenario.nodes[node].name;
        let problem = Problem::new(
            path.key("via"),
            "paths without split proxies, ends of tunnels and other switches",
            format!("{what} at {name:?}"),
        );
        Some(problem.because(reason))
    })
}

/// A switch that no flow crosses.
fn uncrossed(
    scenario: &Scenario,
    routes: &Routes,
    switch: &Switch,
    path: &Path,
) -> Option<Problem> {
    let crosses = |flow: &Flow| {
        let mut ways = [(flow.from, flow.to), (flow.to, flow.from)].into_iter();
        flow.paths.is_empty() && ways.any(|way| switch.crossed(scenario, routes, way).is_some())
    };
    if scenario.flows.iter().any(crosses) {
        return None;
    }
    let [first, second] = switch.ends.map(|node| &scenario.nodes[node].name);
    let problem = Problem::new(
        path.key("between"),
        "two routers that a flow crosses",
        format!("{first:?} and {second:?}"),
    );
    Some(problem.because(
        "no packet would pass the switch, and flows with `sctp.paths` choose their path themselves",
    ))
}

/// Feedback of routers, which depends on the number of hops.
fn of_network(scenario: &Scenario, path: &Path) -> Option<Problem> {
    let mut sides = scenario.links.iter().flat_map(|link| link.sides());
    let feedback = sides.find_map(|(_, side)| side.feedback)?;
    let found = format!("feedback {:?} on a link", feedback.name());
    let problem = Problem::new(path.clone(), "no feedback of routers with a switch", found);
    Some(problem.because("hosts compare the number of routers on their path"))
}

/// Hints of a schedule about moves that only the run shows.
fn unknown_moves(
    scenario: &Scenario,
    routes: &Routes,
    switch: &Switch,
    entries: &[usize],
) -> Option<Problem> {
    let is_unknown = |flow: &Flow| {
        let source = flow.path_hints.as_ref().map(|hints| hints.source);
        matches!(source, Some(HintSource::Schedule { .. }))
            && flow.paths.is_empty()
            && switch.crossed(scenario, routes, (flow.from, flow.to)).is_some()
    };
    if !matches!(switch.rule, SwitchRule::Bfd { .. }) {
        return None;
    }
    let flow = scenario.flows.iter().position(is_unknown)?;
    let path = Path::entry("flow", entries[flow]).key("path_hints").key("source");
    let problem = Problem::new(path, "another source than \"schedule\"", "\"schedule\"");
    Some(problem.because("its packets cross a switch with `bfd`, whose moves only the run shows"))
}
