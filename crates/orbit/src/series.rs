//! The path between places over time: step by step, with hand-overs, and the reasons for times
//! without a path.

mod gap;
mod walk;

use units::Span;

pub use gap::{Cause, Gap, Unseen};

use crate::choice::{Rule, When};
use crate::{Grid, LIGHT_KM_PER_S, Look, Place, PropagationError, Satellite, Sight, Track, Utc};

/// Names of the columns of a saved series that describe its path, and that a link does not need.
/// `t_s`, `delay_ms` and `outage` come before them.
pub const DESCRIPTIVE: [&str; 25] = [
    "elevation_deg",
    "azimuth_deg",
    "visible",
    "satellite",
    "to",
    "to_elevation_deg",
    "to_azimuth_deg",
    "to_visible",
    "to_satellite",
    "lasers",
    "range_km",
    "to_range_km",
    "satellite_latitude_deg",
    "satellite_longitude_deg",
    "to_satellite_latitude_deg",
    "to_satellite_longitude_deg",
    "from_latitude_deg",
    "from_longitude_deg",
    "from_altitude_km",
    "to_latitude_deg",
    "to_longitude_deg",
    "to_altitude_km",
    "rain_db",
    "es_n0_db",
    "modcod",
];

/// How satellites pass packets on.
#[derive(Clone, Debug, PartialEq)]
pub enum Relay {
    /// One satellite, which both ends see.
    BentPipe,
    /// Laser links.
    Lasers(Lasers),
}

/// Laser links.
#[derive(Clone, Debug, PartialEq)]
pub struct Lasers {
    /// The links.
    pub grid: Grid,
}

/// Outages at hand-overs of the first or the last satellite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Outage {
    /// None.
    #[default]
    None,
    /// A time.
    Time(Span),
    /// LeoEM's: three times the delay of the old hop to the ground and of the new one
    /// (XuyangCaoUCSD/LeoEM @4488b00). If both ends change at once, the longer of both.
    LeoEm,
}

/// The series that is wanted.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The satellites, numbered as those of the grid.
    pub satellites: &'a [Satellite],
    /// The place at which the path begins.
    pub from: &'a Place,
    /// The places at which it may end: it ends at the one that is best.
    pub to: &'a [Place],
    /// The ways of those of these places that move, by their names.
    pub tracks: &'a [Track],
    /// Satellites that the first place may use.
    pub sight: Sight,
    /// Satellites that the last places may use.
    pub to_sight: Sight,
    /// The relay.
    pub relay: Relay,
    /// The rule for the choice of satellites.
    pub rule: Rule,
    /// Times of the choice.
    pub when: When,
    /// Outages at hand-overs.
    pub outage: Outage,
    /// The time of the first step.
    pub epoch: Utc,
    /// Time from the first step to the end of the last one.
    pub duration: Span,
    /// Time between steps.
    pub step: Span,
    /// Seed of random choices.
    pub seed: u64,
    /// True to look at all satellites in each step. The result is the same and takes longer.
    pub full: bool,
}

/// A path at a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The satellites in their order, by their numbers. A bent pipe has one.
    pub satellites: Vec<u32>,
    /// The number of the place at its end.
    pub to: u32,
    /// Length in km.
    pub length_km: f64,
    /// The first satellite as the first place sees it.
    pub look: Look,
    /// The last satellite as the last place sees it.
    pub to_look: Look,
}

impl Path {
    /// One-way delay at the speed of light.
    pub fn delay_s(&self) -> f64 {
        self.length_km / LIGHT_KM_PER_S
    }

    /// The first satellite and the last one.
    pub fn ends(&self) -> [u32; 2] {
        let last = self.satellites.last().copied();
        [self.satellites.first().copied(), last].map(Option::unwrap_or_default)
    }

    /// Number of laser links.
    pub fn lasers(&self) -> usize {
        self.satellites.len().saturating_sub(1)
    }
}

/// A row of a series, which holds until the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Time since the epoch.
    pub at: Span,
    /// The path; `None` if there is none.
    pub path: Option<Path>,
    /// True during the outage of a hand-over.
    pub silent: bool,
    /// Satellites that the first place may use.
    pub visible: u32,
    /// Satellites that the last place may use. Without a path, that is the first of them.
    pub to_visible: u32,
}

/// A change of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Handover {
    /// Time since the epoch.
    pub at: Span,
    /// The path before.
    pub before: Path,
    /// The path from then on.
    pub after: Path,
    /// True if there was no path for a time between.
    pub after_gap: bool,
    /// The outage that follows.
    pub outage: Span,
}

/// The path over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Rows in the order of time. There is one for each step, and one at the end of an outage.
    pub rows: Vec<Row>,
    /// Changes of the path.
    pub handovers: Vec<Handover>,
    /// Times without a path.
    pub gaps: Vec<Gap>,
}

/// Computes a series.
///
/// # Errors
/// If a satellite has no position.
pub fn series(request: &Request<'_>) -> Result<Series, PropagationError> {
    let mut series = Series::default();
    let mut walk = walk::Walk::new(request);
    let steps = request.duration.as_nanos().div_ceil(request.step.as_nanos().max(1));
    let mut before: Option<(Path, bool)> = None;
    for step in 0..steps {
        let at = request.step * step;
        let (row, cause) = walk.step(at)?;
        match (&row.path, cause) {
            (Some(path), _) => {
                if let Some((before, is_previous)) = before.take()
                    && (before.satellites != path.satellites || before.to != path.to)
                {
                    let after = path.clone();
                    let outage =
                        if is_previous { outage(request, &before, path) } else { Span::ZERO };
                    let after_gap = !is_previous;
                    series.handovers.push(Handover { at, before, after, after_gap, outage });
                }
                before = Some((path.clone(), true));
            }
            (None, cause) => {
                if let Some((_, is_previous)) = &mut before {
                    *is_previous = false;
                }
                let end = (at + request.step).min(request.duration);
                gap::extend(&mut series.gaps, at, end, cause);
            }
        }
        series.rows.push(row);
    }
    silence(&mut series);
    Ok(series)
}

/// The outage of a change of the path.
fn outage(request: &Request<'_>, before: &Path, after: &Path) -> Span {
    let [old, new] = [before, after].map(Path::ends);
    let hops = [
        (old[0] != new[0], before.look, after.look),
        (old[1] != new[1] || before.to != after.to, before.to_look, after.to_look),
    ];
    let changed = hops.into_iter().filter(|(changed, ..)| *changed);
    match request.outage {
        Outage::None => Span::ZERO,
        Outage::Time(time) => changed.map(|_| time).max().unwrap_or_default(),
        Outage::LeoEm => {
            let time = |(_, old, new): (bool, Look, Look)| {
                Span::from_secs_f64(3.0 * (old.range_km + new.range_km) / LIGHT_KM_PER_S)
            };
            changed.map(time).max().unwrap_or_default()
        }
    }
}

/// Marks the rows in outages of hand-overs, and adds a row at the end of each outage.
fn silence(series: &mut Series) {
    let outages = series.handovers.iter().filter(|one| one.outage > Span::ZERO);
    let mut outages = outages.map(|one| (one.at, one.at + one.outage)).peekable();
    let mut rows: Vec<Row> = Vec::with_capacity(series.rows.len());
    let mut until: Option<Span> = None;
    for row in std::mem::take(&mut series.rows) {
        while let Some((_, end)) = outages.next_if(|(start, _)| *start <= row.at) {
            until = Some(until.map_or(end, |until| until.max(end)));
        }
        let silent = until.is_some_and(|end| end > row.at);
        // The outage ended between the row before and this one.
        if let Some(end) = until.filter(|_| !silent) {
            if let Some(last) = rows.last().filter(|last| last.silent && end < row.at) {
                rows.push(Row { at: end, silent: false, ..last.clone() });
            }
            until = None;
        }
        // Without a path there is an outage already.
        rows.push(Row { silent: silent && row.path.is_some(), ..row });
    }
    series.rows = rows;
}

#[cfg(test)]
mod tests;
