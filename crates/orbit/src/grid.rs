//! Laser links between satellites, and shortest paths over them.
//!
//! The +Grid: a satellite has links to its neighbours in its plane, and to the satellites of the
//! same number in the two neighbouring planes (Hypatia, snkas/hypatia @0ac531c; with `isl_shift`
//! 0). The seam between the last plane and the first one is linked, or not. Paths are searched with
//! A*: the rest of a path is no shorter than the straight line to the destination, so most
//! satellites are never looked at, and their positions are not computed.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::{EARTH_RADIUS_KM, Shell, Vector};

/// Height above the Earth in km that the beam of a laser keeps, in Hypatia: below, the weather is.
pub const CLEARANCE_KM: f64 = 80.0;

/// No satellite.
const NONE: u32 = u32::MAX;

/// Laser links of a constellation.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Neighbours of each satellite, `NONE` where there are fewer.
    neighbours: Vec<[u32; 4]>,
    /// Longest link of each satellite in km.
    longest: Vec<f64>,
}

/// The longest link between two satellites at a radius that keeps its clearance, in km.
pub fn longest_link_km(radius_km: f64) -> f64 {
    let lowest = EARTH_RADIUS_KM + CLEARANCE_KM;
    2.0 * (radius_km * radius_km - lowest * lowest).max(0.0).sqrt()
}

impl Grid {
    /// The +Grid of shells, whose satellites are numbered one shell after the other. Shells are not
    /// linked with each other. `longest_km` is by default that of the clearance.
    pub fn plus(shells: &[Shell], seam: bool, longest_km: Option<f64>) -> Self {
        let mut grid = Self { neighbours: Vec::new(), longest: Vec::new() };
        for shell in shells {
            let first = grid.neighbours.len();
            // Satellites are counted with 32 bits in a shell, and shells are few.
            let number = |plane: u32, slot: u32| first as u32 + plane * shell.per_plane + slot;
            let (planes, slots) = (shell.planes, shell.per_plane);
            let radius = EARTH_RADIUS_KM + shell.altitude_km();
            let longest = longest_km.unwrap_or_else(|| longest_link_km(radius));
            for plane in 0..planes {
                for slot in 0..slots {
                    let ahead = number(plane, (slot + 1) % slots);
                    let behind = number(plane, (slot + slots - 1) % slots);
                    let linked = |inside: bool, other: u32| {
                        if inside || seam { number(other, slot) } else { NONE }
                    };
                    let left = linked(plane > 0, (plane + planes - 1) % planes);
                    let right = linked(plane + 1 < planes, (plane + 1) % planes);
                    let own = number(plane, slot);
                    let others = [ahead, behind, left, right];
                    grid.neighbours.push(others.map(|one| if one == own { NONE } else { one }));
                    grid.longest.push(longest);
                }
            }
        }
        grid
    }

    /// The neighbours of a satellite.
    pub fn neighbours(&self, satellite: u32) -> impl Iterator<Item = u32> + '_ {
        let all = self.neighbours.get(satellite as usize).into_iter().flatten();
        all.copied().filter(|other| *other != NONE)
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        let mut links: Vec<_> = (0u32..)
            .zip(&self.neighbours)
            .flat_map(|(own, others)| others.iter().map(move |other| (own, *other)))
            .filter(|(own, other)| *other != NONE && own < other)
            .collect();
        links.sort_unstable();
        links.dedup();
        links.len()
    }
}

/// One of the ends of a path: a satellite, and its distance from a station in km.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// The satellite.
    pub satellite: u32,
    /// The station, as the caller counts them.
    pub station: u32,
    /// Distance from the station.
    pub range_km: f64,
}

/// A path from one station over satellites to another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The satellites in their order.
    pub satellites: Vec<u32>,
    /// The station at its end.
    pub station: u32,
    /// Length with both ends, in km.
    pub length_km: f64,
}

/// Finds shortest paths, with memory that it uses again for each of them.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    /// Number of the search that has set the fields of a satellite.
    stamp: Vec<u32>,
    search: u32,
    position: Vec<Vector>,
    length: Vec<f64>,
    before: Vec<u32>,
    open: BinaryHeap<Open>,
}

/// A satellite to look at next, or the end of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Open {
    /// Length of the path with its rest, at least.
    total: f64,
    /// Length until here.
    length: f64,
    satellite: u32,
    /// The station, at the end of a path.
    station: Option<u32>,
}

impl Eq for Open {}

impl Ord for Open {
    /// The shortest comes first; among equals an end, then the smallest number.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |one: &Self| (one.station.is_none(), one.station, one.satellite);
        other.total.total_cmp(&self.total).then_with(|| key(other).cmp(&key(self)))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Finder {
    /// The shortest path over the grid from one of `first` to one of `last`. `targets` are the
    /// positions of the stations at its end, by their numbers, and `position` gives those of
    /// satellites.
    pub fn shortest(
        &mut self,
        grid: &Grid,
        first: &[End],
        last: &[End],
        targets: &[Vector],
        position: impl Fn(usize) -> Vector,
    ) -> Option<Route> {
        self.begin(grid.neighbours.len());
        // Only stations that a last satellite sees are ends.
        let mut ends: Vec<_> = last.iter().map(|end| end.station).collect();
        ends.sort_unstable();
        ends.dedup();
        let rest = |from: Vector| {
            let distances = ends.iter().map(|station| targets[*station as usize].distance(from));
            distances.fold(f64::INFINITY, f64::min)
        };
        for end in first {
            self.reach(end.satellite, NONE, end.range_km, &position, &rest);
        }
        while let Some(Open { length, satellite, station, .. }) = self.open.pop() {
            if let Some(station) = station {
                let satellites = self.path(satellite);
                return Some(Route { satellites, station, length_km: length });
            }
            let own = satellite as usize;
            if length > self.length[own] {
                continue;
            }
            for end in last.iter().filter(|end| end.satellite == satellite) {
                let total = length + end.range_km;
                let station = Some(end.station);
                self.open.push(Open { total, length: total, satellite, station });
            }
            let here = self.position[own];
            for other in grid.neighbours(satellite) {
                let there = self.place(other, &position);
                let link = here.distance(there);
                if link <= grid.longest[own] {
                    self.reach(other, satellite, length + link, &position, &rest);
                }
            }
        }
        None
    }

    fn begin(&mut self, satellites: usize) {
        if self.stamp.len() != satellites || self.search == u32::MAX {
            self.stamp = vec![0; satellites];
            self.search = 0;
            self.position.resize(satellites, Vector::default());
            self.length.resize(satellites, 0.0);
            self.before.resize(satellites, NONE);
        }
        self.search += 1;
        self.open.clear();
    }

    /// The position of a satellite, computed once for each search.
    fn place(&mut self, satellite: u32, position: &impl Fn(usize) -> Vector) -> Vector {
        let own = satellite as usize;
        if self.stamp[own] != self.search {
            self.stamp[own] = self.search;
            self.position[own] = position(own);
            self.length[own] = f64::INFINITY;
        }
        self.position[own]
    }

    /// A way to a satellite, which counts if it is shorter than the ways before.
    fn reach(
        &mut self,
        satellite: u32,
        before: u32,
        length: f64,
        position: &impl Fn(usize) -> Vector,
        rest: &impl Fn(Vector) -> f64,
    ) {
        let there = self.place(satellite, position);
        let own = satellite as usize;
        if length < self.length[own] {
            self.length[own] = length;
            self.before[own] = before;
            let total = length + rest(there);
            self.open.push(Open { total, length, satellite, station: None });
        }
    }

    /// The satellites on the way to one.
    fn path(&self, last: u32) -> Vec<u32> {
        let before = |one: &u32| Some(self.before[*one as usize]).filter(|one| *one != NONE);
        let mut path: Vec<_> = std::iter::successors(Some(last), before).collect();
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phasing, Utc};

    fn shell(planes: u32, per_plane: u32) -> Shell {
        Shell::circular("s", 630.0, 51.9, planes, per_plane, Phasing::Hypatia)
    }

    #[test]
    fn a_grid_has_two_links_for_each_satellite() {
        let grid = |planes, per_plane, seam| Grid::plus(&[shell(planes, per_plane)], seam, None);
        assert_eq!(grid(34, 34, true).links(), 2 * 1156);
        assert_eq!(grid(34, 34, false).links(), 2 * 1156 - 34);
        // Small and odd constellations: no link to itself, none twice.
        assert_eq!(grid(1, 1, true).links(), 0);
        assert_eq!(grid(1, 2, true).links(), 1);
        assert_eq!(grid(2, 2, true).links(), 4);
        assert_eq!(grid(3, 1, true).links(), 3);
        assert_eq!(grid(3, 1, false).links(), 2);
        let two = Grid::plus(&[shell(2, 2), shell(1, 3)], true, None);
        assert_eq!(two.links(), 4 + 3);
        let mut own: Vec<_> = two.neighbours(4).collect();
        own.sort_unstable();
        assert_eq!(own, [5, 6]);
    }

    #[test]
    fn the_longest_link_stays_above_the_weather() {
        let half = longest_link_km(EARTH_RADIUS_KM + 630.0) / 2.0;
        let lowest = ((EARTH_RADIUS_KM + 630.0).powi(2) - half * half).sqrt();
        assert!((lowest - EARTH_RADIUS_KM - 80.0).abs() < 1e-9);
    }

    /// Dijkstra's algorithm over all satellites, without an estimate of the rest.
    fn plain(grid: &Grid, first: End, last: End, positions: &[Vector]) -> Option<f64> {
        let mut lengths = vec![f64::INFINITY; positions.len()];
        lengths[first.satellite as usize] = first.range_km;
        let mut done = vec![false; positions.len()];
        loop {
            let open = (0..positions.len()).filter(|one| !done[*one] && lengths[*one].is_finite());
            let next = open.min_by(|a, b| lengths[*a].total_cmp(&lengths[*b]))?;
            if next == last.satellite as usize {
                return Some(lengths[next] + last.range_km);
            }
            done[next] = true;
            for other in grid.neighbours(next as u32) {
                let link = positions[next].distance(positions[other as usize]);
                if link <= grid.longest[next] {
                    let length = lengths[next] + link;
                    lengths[other as usize] = lengths[other as usize].min(length);
                }
            }
        }
    }

    #[test]
    fn the_paths_are_those_of_plain_dijkstra() {
        let epoch = Utc::parse("2026-11-27T00:00:00Z").unwrap();
        let shell = shell(12, 10);
        let satellites = shell.satellites(epoch).unwrap();
        let positions: Vec<_> =
            satellites.iter().map(|one| one.propagate(epoch).unwrap()).collect();
        let mut finder = Finder::default();
        let mut unreachable = 0;
        for seam in [true, false] {
            // A limit at which some links are too long.
            let grid = Grid::plus(std::slice::from_ref(&shell), seam, Some(4400.0));
            for (a, b) in (0..120).zip((0..120).map(|one| one * 37 % 120)) {
                let ground = positions[b as usize] * 0.9;
                let range_km = ground.distance(positions[b as usize]);
                let first = End { satellite: a, station: 0, range_km: 700.0 };
                let last = End { satellite: b, station: 0, range_km };
                let found = finder.shortest(&grid, &[first], &[last], &[ground], |n| positions[n]);
                let expected = plain(&grid, first, last, &positions);
                unreachable += usize::from(expected.is_none());
                let length = found.as_ref().map(|route| route.length_km);
                match (length, expected) {
                    (Some(a), Some(b)) => assert!((a - b).abs() < 1e-9, "{a} {b}"),
                    (a, b) => assert_eq!(a, b),
                }
                if let Some(Route { satellites, .. }) = found {
                    assert_eq!((satellites[0], *satellites.last().unwrap()), (a, b));
                    assert!(
                        satellites.windows(2).all(|w| grid.neighbours(w[0]).any(|n| n == w[1]))
                    );
                }
            }
        }
        assert!(unreachable < 120, "{unreachable}");
    }
}
