//! When the packets at switches move to another path.
//!
//! Decisions:
//! - Events of switches are later in runs with a random phase, as those of links.
//! - A path has an outage while a direction of one of its links has one, to or fro: a router that
//!   does not hear the other one cannot use the path.
//! - If no path is free of outages, the packets stay where they are.

use link::Seed;
use units::{Span, Time};

use crate::model::{Move, Scenario, Switch, SwitchRule, Way};
use crate::routes::{Hop, Routes};

/// A time, and the path that carries the packets of a router from then on.
pub type PathMove = (Time, usize);

/// The moves of both routers of a switch in a run with `seed`, in the order of time; `None` if only
/// the run shows them. The first path carries the packets at the start.
pub fn switch_moves(
    scenario: &Scenario,
    routes: &Routes,
    switch: &Switch,
    seed: &Seed,
) -> Option<[Vec<PathMove>; 2]> {
    match &switch.rule {
        SwitchRule::Times { moves, lag } => {
            let delay = scenario.event_delay(seed);
            let end = Time::ZERO + scenario.duration;
            Some([delay, delay + *lag].map(|later| at_times(moves, later, end)))
        }
        SwitchRule::Outages { delay, hold } => {
            let down: Vec<_> = (0..switch.via.len())
                .map(|path| {
                    noticed(&outages(scenario, routes, (switch, path), seed), *delay, *hold)
                })
                .collect();
            let moves = first_up(&down, Time::ZERO + scenario.duration);
            Some([moves.clone(), moves])
        }
        SwitchRule::Bfd { .. } => None,
    }
}

/// Moves at known times, all so much later, before `end`.
fn at_times(moves: &[Move], later: Span, end: Time) -> Vec<PathMove> {
    let mut all = Vec::new();
    for (number, one) in moves.iter().enumerate() {
        let first = Time::ZERO + one.at + later;
        let next = |at: &Time| one.every.map(|every| *at + every);
        let times = std::iter::successors(Some(first), next).take_while(|at| *at < end);
        all.extend(times.map(|at| (at, number, one.path)));
    }
    all.sort_unstable();
    changes(all.into_iter().map(|(at, _, path)| (at, path)))
}

/// The moves that change the path. Of several at one instant the last one counts.
fn changes(moves: impl Iterator<Item = PathMove>) -> Vec<PathMove> {
    let mut last_of_each: Vec<PathMove> = Vec::new();
    for (at, path) in moves {
        last_of_each.pop_if(|(before, _)| *before == at);
        last_of_each.push((at, path));
    }
    let mut current = 0;
    last_of_each.retain(|(_, path)| std::mem::replace(&mut current, *path) != *path);
    last_of_each
}

/// Times from and to.
type Interval = (Time, Time);

/// The outages of a path, in the order of time, without overlaps.
fn outages(
    scenario: &Scenario,
    routes: &Routes,
    (switch, path): (&Switch, usize),
    seed: &Seed,
) -> Vec<Interval> {
    let hops = [0, 1].into_iter().flat_map(|end| switch.hops(scenario, routes, (end, path)));
    let mut all: Vec<Interval> = Vec::new();
    for hop in hops {
        let direction = hop.direction(&scenario.links);
        let events = direction.timeline.later(scenario.event_delay(seed));
        let timeline = direction.trace.of_run(seed).with(&events);
        let changes = timeline.until(Time::ZERO + scenario.duration);
        all.extend(changes.filter_map(|(at, change)| Some((at, at + change.outage?))));
    }
    all.sort_unstable();
    joined(all)
}

/// Intervals in the order of their starts, as one where they meet.
fn joined(all: Vec<Interval>) -> Vec<Interval> {
    let mut out: Vec<Interval> = Vec::new();
    for (from, to) in all {
        match out.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = last.1.max(to),
            None => out.push((from, to)),
        }
    }
    out
}

/// The times in which a router does not use a path with these outages.
fn noticed(outages: &[Interval], delay: Span, hold: Span) -> Vec<Interval> {
    let long = outages.iter().filter(|(from, to)| to.since(*from) > delay);
    joined(long.map(|(from, to)| (*from + delay, *to + hold)).collect())
}

/// The moves to the first path that is not down.
fn first_up(down: &[Vec<Interval>], end: Time) -> Vec<PathMove> {
    let ends = down.iter().flatten().flat_map(|(from, to)| [*from, *to]);
    let mut times: Vec<_> = ends.filter(|at| *at < end).collect();
    times.sort_unstable();
    times.dedup();
    let is_up = |path: usize, at: Time| {
        let after = down[path].partition_point(|(from, _)| *from <= at);
        after.checked_sub(1).is_none_or(|last| down[path][last].1 <= at)
    };
    let mut current = 0;
    let choose = |at: Time| {
        current = (0..down.len()).find(|path| is_up(*path, at)).unwrap_or(current);
        (at, current)
    };
    changes(times.into_iter().map(choose))
}

impl Switch {
    /// The hops of the packets of router `end` on a path.
    pub fn hops(
        &self,
        scenario: &Scenario,
        routes: &Routes,
        (end, path): (usize, usize),
    ) -> Vec<Hop> {
        routes.path(self.ends[end], self.towards[end][path], &scenario.links)
    }

    /// The router whose choice the packets on a way follow; `None` if they do not cross the switch.
    pub fn crossed(&self, scenario: &Scenario, routes: &Routes, (from, to): Way) -> Option<usize> {
        let place = |node: usize| scenario.anchor(node);
        let nodes = || {
            let hops = routes.path(from, to, &scenario.links);
            let starts: Vec<_> = hops.iter().map(|hop| hop.to(&scenario.links)).collect();
            std::iter::once(place(from)).chain(starts)
        };
        let at = |end: usize| nodes().position(|node| node == self.ends[end]);
        let [first, second] = [at(0)?, at(1)?];
        Some(usize::from(second < first))
    }
}

impl Scenario {
    /// The hops of each route that packets on a way may take: that without switches, and for each
    /// further path of a switch that they cross the one over it.
    pub fn routes_of(&self, routes: &Routes, way: Way) -> Vec<Vec<Hop>> {
        let plain = routes.path(way.0, way.1, &self.links);
        let mut all = vec![plain.clone()];
        let to_node = way.1 < self.nodes.len();
        for switch in self.switches.iter().filter(|_| to_node) {
            let Some(end) = switch.crossed(self, routes, way) else { continue };
            let node = switch.ends[end];
            let first = switch.hops(self, routes, (end, 0)).len();
            let start = plain.iter().position(|hop| hop.from(&self.links) == node);
            let Some(start) = start else { continue };
            for path in 1..switch.via.len() {
                let hops = switch.hops(self, routes, (end, path));
                let (before, after) = (&plain[..start], &plain[start + first..]);
                all.push([before, &hops, after].concat());
            }
        }
        all
    }

    /// Returns true if packets on one of these ways may take `hop`.
    pub fn may_take(&self, routes: &Routes, ways: impl IntoIterator<Item = Way>, hop: Hop) -> bool {
        ways.into_iter().any(|way| self.routes_of(routes, way).iter().any(|one| one.contains(&hop)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn intervals(all: &[(u64, u64)]) -> Vec<Interval> {
        all.iter().map(|(from, to)| (at(*from), at(*to))).collect()
    }

    #[test]
    fn a_router_notices_long_outages_late_and_waits_after_their_ends() {
        let outages = joined(intervals(&[(1, 2), (10, 15), (12, 20), (23, 26)]));
        assert_eq!(outages, intervals(&[(1, 2), (10, 20), (23, 26)]));
        let [one, five] = [1, 5].map(Span::from_secs);
        assert_eq!(noticed(&outages, one, Span::ZERO), intervals(&[(11, 20), (24, 26)]));
        assert_eq!(noticed(&outages, one, five), intervals(&[(11, 31)]));
    }

    #[test]
    fn the_first_path_that_is_up_carries_and_the_last_one_if_none_is() {
        let down =
            [intervals(&[(10, 20), (30, 40)]), intervals(&[(15, 35)]), intervals(&[(15, 18)])];
        let moves = first_up(&down, at(100));
        // From 15 s to 18 s no path is up.
        assert_eq!(
            moves,
            [(at(10), 1), (at(18), 2), (at(20), 0), (at(30), 2), (at(35), 1), (at(40), 0)]
        );
        assert_eq!(first_up(&down, at(30)).len(), 3);
    }

    #[test]
    fn of_moves_at_one_instant_the_last_counts_and_only_changes_are_left() {
        let once = |seconds, path| Move { at: Span::from_secs(seconds), every: None, path };
        let every = |one: Move, period| Move { every: Some(Span::from_secs(period)), ..one };
        let moves = [every(once(10, 1), 20), every(once(20, 0), 20), once(40, 1), once(50, 1)];
        let found = at_times(&moves, Span::ZERO, at(70));
        assert_eq!(found, [(at(10), 1), (at(20), 0), (at(30), 1), (at(60), 0)]);
        let later = at_times(&moves[..2], Span::from_secs(1), at(30));
        assert_eq!(later, [(at(11), 1), (at(21), 0)]);
    }
}
