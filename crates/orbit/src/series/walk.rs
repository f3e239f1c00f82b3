//! One step after the other: who sees what, which satellites are used, and the path.

use units::Span;

use super::gap::{Cause, Unseen, size};
use super::{Path, Relay, Request, Row};
use crate::choice::{self, Chooser, Rule, Visible, When};
use crate::grid::{End, Finder, Route};
use crate::sight::{Extent, Filter};
use crate::station::{self, Here};
use crate::{Ephemeris, PropagationError, Sight, Station, Track, Utc};

/// A station with its rules and the satellites that it can see between two knots.
struct Watcher<'a> {
    station: Station,
    /// The way of its place, if it moves.
    track: Option<&'a Track>,
    sight: Sight,
    filters: Vec<Filter>,
    candidates: Vec<u32>,
    visible: Vec<Visible>,
}

/// Satellites and places in use until they are chosen again.
#[derive(Default)]
struct Held {
    slot: Option<i64>,
    /// The first satellite.
    first: Option<u32>,
    /// The last satellite of each place.
    last: Vec<Option<u32>>,
    /// The place at the end.
    to: Option<u32>,
}

/// The state from one step to the next.
pub(super) struct Walk<'a> {
    request: &'a Request<'a>,
    ephemeris: Ephemeris<'a>,
    /// The first place, then the last ones.
    watchers: Vec<Watcher<'a>>,
    chooser: Chooser,
    held: Held,
    finder: Finder,
}

impl<'a> Walk<'a> {
    pub(super) fn new(request: &'a Request<'a>) -> Self {
        let ephemeris = Ephemeris::new(request.satellites, request.epoch);
        let spacing = ephemeris.spacing().as_secs_f64();
        let places = [(request.from, request.sight)];
        let places = places.into_iter().chain(request.to.iter().map(|to| (to, request.to_sight)));
        let watchers = places.map(|(place, sight)| {
            let station = Station::new(place.clone());
            let track = request.tracks.iter().find(|track| track.name() == place.name);
            let extent = Extent {
                radii_km: track.map_or([station.radius_km(); 2], Track::radii_km),
                fastest: track.map_or(0.0, Track::fastest),
            };
            let filter = |satellite| sight.filter(extent, satellite, spacing);
            let filters = request.satellites.iter().map(filter).collect();
            let (candidates, visible) = (Vec::new(), Vec::new());
            Watcher { station, track, sight, filters, candidates, visible }
        });
        Self {
            request,
            ephemeris,
            watchers: watchers.collect(),
            chooser: Chooser::new(request.rule, request.seed),
            held: Held { last: vec![None; request.to.len()], ..Held::default() },
            finder: Finder::default(),
        }
    }

    /// The row at a time, and the reason if it has no path.
    pub(super) fn step(&mut self, at: Span) -> Result<(Row, Option<Cause>), PropagationError> {
        if self.ephemeris.advance(at)? {
            self.filter(at);
        }
        let now = self.request.epoch.plus(at);
        let turn = station::turn(now);
        for watcher in &mut self.watchers {
            watcher.go(at);
            watcher.look(&self.ephemeris, turn);
        }
        let route = self.route(now, turn);
        let path = route.map(|route| self.path(route, turn));
        let to = path.as_ref().map_or(0, |path| path.to) as usize;
        let count =
            |watcher: usize| self.watchers.get(watcher).map_or(0, |one| one.visible.len() as u32);
        let (visible, to_visible) = (count(0), count(1 + to));
        let cause = path.is_none().then(|| self.cause(turn));
        Ok((Row { at, path, silent: false, visible, to_visible }, cause))
    }

    /// Finds the candidates of the interval that a time is in.
    fn filter(&mut self, at: Span) {
        let spacing = self.ephemeris.spacing();
        let knot = spacing * (at.as_nanos() / spacing.as_nanos());
        let turns =
            [knot, knot + spacing].map(|at| (at, station::turn(self.request.epoch.plus(at))));
        for watcher in &mut self.watchers {
            let ends = turns.map(|(at, turn)| {
                watcher.go(at);
                watcher.station.here(turn).position.unit()
            });
            let all = (0u32..).zip(&watcher.filters);
            let seen = all.filter(|(number, filter)| {
                let [first, second] = self.ephemeris.ends(*number as usize);
                self.request.full || filter.admits([(ends[0], first), (ends[1], second)])
            });
            watcher.candidates = seen.map(|(number, _)| number).collect();
        }
    }

    /// The path at an instant, with satellites that are held or chosen.
    fn route(&mut self, now: Utc, turn: (f64, f64)) -> Option<Route> {
        let slot = now.slot(nanos(choice::SLOT), nanos(choice::SLOT_OFFSET));
        let renew = match self.request.when {
            When::Step => true,
            When::Slot => self.held.slot.replace(slot) != Some(slot),
            When::Loss => false,
        };
        match (&self.request.relay, self.request.rule) {
            (Relay::BentPipe, _) => self.bent_pipe(now, renew),
            (Relay::Lasers(_), Rule::Shortest) => self.shortest(renew, turn),
            (Relay::Lasers(_), _) => self.lasers(now, renew, turn),
        }
    }

    /// A satellite that the first place and one of the last ones see.
    fn bent_pipe(&mut self, now: Utc, renew: bool) -> Option<Route> {
        let (first, last) = self.watchers.split_first()?;
        let route = |up: &Visible, to: usize, down: &Visible| Route {
            satellites: vec![up.satellite],
            station: to as u32,
            length_km: up.range_km + down.range_km,
        };
        if !renew && let (Some(held), Some(to)) = (self.held.first, self.held.to) {
            let up = first.sees(held);
            let down = last.get(to as usize).and_then(|watcher| watcher.sees(held));
            if let (Some(up), Some(down)) = (up, down) {
                return Some(route(up, to as usize, down));
            }
        }
        // The last place that is nearest to each satellite of the first one.
        let nearest = |up: &Visible| {
            let downs = last
                .iter()
                .enumerate()
                .filter_map(|(to, watcher)| Some((to, *watcher.sees(up.satellite)?)));
            downs.min_by(|(_, a), (_, b)| a.range_km.total_cmp(&b.range_km))
        };
        let common = first.visible.iter().filter_map(|up| Some((*up, nearest(up)?)));
        let common: Vec<_> = common.collect();
        let is_shortest = self.request.rule == Rule::Shortest;
        let scored = common.iter().map(|(up, (_, down))| {
            let range_km = up.range_km + if is_shortest { down.range_km } else { 0.0 };
            Visible { range_km, ..*up }
        });
        let scored: Vec<_> = scored.collect();
        let watchers = |one: &Visible| {
            let to = common.iter().find(|(up, _)| up.satellite == one.satellite);
            let down = to.and_then(|(_, (to, _))| last.get(*to));
            [Some(first), down].into_iter().flatten().map(|one| (&one.station, one.sight)).collect()
        };
        let remaining = |one: &Visible| {
            let watchers: Vec<_> = watchers(one);
            choice::remaining(&self.request.satellites[one.satellite as usize], &watchers, now)
        };
        let best = self.chooser.best(&scored, remaining);
        let chosen =
            best.and_then(|best| common.iter().find(|(up, _)| up.satellite == best.satellite));
        self.held.first = chosen.map(|(up, _)| up.satellite);
        self.held.to = chosen.map(|(_, (to, _))| *to as u32);
        chosen.map(|(up, (to, down))| route(up, *to, down))
    }

    /// The shortest path over laser links, with satellites that are held or with any.
    fn shortest(&mut self, renew: bool, turn: (f64, f64)) -> Option<Route> {
        if !renew && let (Some(first), Some(to)) = (self.held.first, self.held.to) {
            let last = self.held.last[to as usize];
            let first: Vec<_> = self.ends(0, Some(first));
            let last: Vec<_> =
                last.map(|last| self.ends(1 + to as usize, Some(last))).unwrap_or_default();
            if let Some(route) = self.search(&first, &last, turn) {
                return Some(route);
            }
        }
        let first = self.ends(0, None);
        let last: Vec<_> = (1..self.watchers.len()).flat_map(|one| self.ends(one, None)).collect();
        let route = self.search(&first, &last, turn);
        self.held.first = route.as_ref().map(|route| route.satellites[0]);
        self.held.to = route.as_ref().map(|route| route.station);
        self.held.last.fill(None);
        if let Some(route) = &route {
            self.held.last[route.station as usize] = route.satellites.last().copied();
        }
        route
    }

    /// The path over laser links between satellites that each place chooses for itself.
    fn lasers(&mut self, now: Utc, renew: bool, turn: (f64, f64)) -> Option<Route> {
        for number in 0..self.watchers.len() {
            let watcher = &self.watchers[number];
            let held = match number {
                0 => &mut self.held.first,
                _ => &mut self.held.last[number - 1],
            };
            if renew || held.is_none_or(|held| watcher.sees(held).is_none()) {
                let watchers = [(&watcher.station, watcher.sight)];
                let remaining = |one: &Visible| {
                    let satellite = &self.request.satellites[one.satellite as usize];
                    choice::remaining(satellite, &watchers, now)
                };
                let best = self.chooser.best(&watcher.visible, remaining);
                *held = best.map(|best| best.satellite);
            }
        }
        let held = |number: usize, held: Option<u32>| match held {
            Some(held) => self.ends(number, Some(held)),
            None => Vec::new(),
        };
        let first = held(0, self.held.first);
        let last = self.held.last.iter().enumerate();
        let last: Vec<_> = last.flat_map(|(to, last)| held(1 + to, *last)).collect();
        self.search(&first, &last, turn)
    }

    /// Satellites in sight of a watcher as ends of a path: all, or the one that is held.
    fn ends(&self, watcher: usize, held: Option<u32>) -> Vec<End> {
        let all = self.watchers[watcher].visible.iter();
        let used = all.filter(|one| held.is_none_or(|held| held == one.satellite));
        let station = watcher.saturating_sub(1) as u32;
        used.map(|one| End { satellite: one.satellite, station, range_km: one.range_km }).collect()
    }

    fn search(&mut self, first: &[End], last: &[End], turn: (f64, f64)) -> Option<Route> {
        let Relay::Lasers(lasers) = &self.request.relay else { return None };
        if first.is_empty() || last.is_empty() {
            return None;
        }
        let targets = self.watchers[1..].iter().map(|one| one.station.here(turn).position);
        let targets: Vec<_> = targets.collect();
        let position = |number| self.ephemeris.position(number);
        self.finder.shortest(&lasers.grid, first, last, &targets, position)
    }

    fn path(&self, route: Route, turn: (f64, f64)) -> Path {
        let Route { satellites, station: to, length_km } = route;
        let look = |watcher: usize, satellite: Option<&u32>| {
            let here = self.watchers[watcher].station.here(turn);
            let satellite = satellite.copied().unwrap_or_default();
            here.look(self.ephemeris.position(satellite as usize))
        };
        let look_first = look(0, satellites.first());
        let to_look = look(1 + to as usize, satellites.last());
        Path { satellites, to, length_km, look: look_first, to_look }
    }

    /// The reason why there is no path.
    fn cause(&self, turn: (f64, f64)) -> Cause {
        let Some((first, last)) = self.watchers.split_first() else { return Cause::NoRoute };
        let mut unseen = Vec::new();
        if first.visible.is_empty() {
            unseen.extend(self.nearest(first, turn));
        }
        if last.iter().all(|one| one.visible.is_empty()) {
            let nearest = last.iter().filter_map(|one| self.nearest(one, turn));
            unseen.extend(nearest.min_by(|a, b| {
                let (a, b) = (size(&a.miss), size(&b.miss));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            }));
        }
        match (&self.request.relay, unseen.is_empty()) {
            (_, false) => Cause::Unseen(unseen),
            (Relay::BentPipe, true) => Cause::NoCommon,
            (Relay::Lasers(_), true) => Cause::NoRoute,
        }
    }

    /// The satellite that is nearest to being seen.
    fn nearest(&self, watcher: &Watcher, turn: (f64, f64)) -> Option<Unseen> {
        let here = watcher.station.here(turn);
        let all = 0..self.request.satellites.len();
        let misses = all.filter_map(|satellite| {
            Some((satellite, watcher.sight.miss(&here, self.ephemeris.position(satellite))?))
        });
        let (satellite, miss) = misses.min_by(|(_, a), (_, b)| {
            let (a, b) = (size(a), size(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })?;
        let place = watcher.station.place.name.clone();
        Some(Unseen { place, satellite: satellite as u32, miss })
    }
}

impl Watcher<'_> {
    /// Moves the station to where its place is at a time.
    fn go(&mut self, at: Span) {
        if let Some(track) = self.track {
            self.station = Station::new(track.at(at.as_secs_f64()));
        }
    }

    /// Finds the satellites in sight.
    fn look(&mut self, ephemeris: &Ephemeris<'_>, turn: (f64, f64)) {
        let here: Here<'_> = self.station.here(turn);
        self.visible.clear();
        for satellite in &self.candidates {
            let position = ephemeris.position(*satellite as usize);
            if self.sight.admits(&here, position) {
                let range_km = here.position.distance(position);
                let sine = here.sine(position);
                self.visible.push(Visible { satellite: *satellite, range_km, sine });
            }
        }
    }

    /// A satellite, if it is in sight.
    fn sees(&self, satellite: u32) -> Option<&Visible> {
        self.visible.iter().find(|one| one.satellite == satellite)
    }
}

/// A span of this crate's constants, as a signed number.
fn nanos(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
