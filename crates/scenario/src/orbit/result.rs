//! The series of a file: rows for a link, hand-overs, and times without a path in words.

use language::Refused;
use language::error::Place as FilePlace;
use orbit::series::Path;
use orbit::sight::Miss;
use orbit::{Bound, Gap, Handover, Place, PropagationError, Request, Row, Series, Sight, series};
use serde::Serialize;
use units::Span;

use crate::model::Change;
use crate::trace::Trace;

use super::resolve::Setup;
use super::signal::{Heard, OrbitSignal};

/// A row of a series, which holds until the next one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrbitRow {
    /// Time since the epoch.
    pub at: Span,
    /// One-way delay. Without a path, that of the last path, or of the first one before it.
    pub delay: Span,
    /// True if no packet passes.
    pub outage: bool,
    /// Elevation of the first satellite at the first place.
    pub elevation_deg: Option<f64>,
    /// Azimuth of the first satellite at the first place, from north over east.
    pub azimuth_deg: Option<f64>,
    /// Satellites that the first place may use.
    pub visible: u64,
    /// The first satellite.
    pub satellite: Option<String>,
    /// The place at the end.
    pub to: Option<String>,
    /// Elevation of the last satellite at the last place.
    pub to_elevation_deg: Option<f64>,
    /// Azimuth of the last satellite at the last place.
    pub to_azimuth_deg: Option<f64>,
    /// Satellites that the last place may use.
    pub to_visible: u64,
    /// The last satellite.
    pub to_satellite: Option<String>,
    /// Laser links of the path.
    pub lasers: Option<u64>,
    /// Distance of the first place and its satellite, and of the last place and its satellite.
    pub ranges_km: Option<[f64; 2]>,
    /// Latitude and longitude of the points below the first and the last satellite.
    pub below_deg: Option<[[f64; 2]; 2]>,
    /// Latitude and longitude in degrees and altitude in km of the first place and, with a path, of
    /// the last one.
    pub places: [Option<[f64; 3]>; 2],
    /// The signal of the first place, if the file has one.
    pub signal: Option<OrbitSignal>,
}

/// A change of the path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrbitHandover {
    /// Time since the epoch.
    pub at: Span,
    /// `first`, `last` or `both`, if satellites at the ends change, and `between` otherwise.
    pub place: &'static str,
    /// The first satellite before and after.
    pub satellites: [String; 2],
    /// The last satellite before and after.
    pub to_satellites: [String; 2],
    /// One-way delay before and after.
    pub delays: [Span; 2],
    /// The outage that follows.
    pub outage: Span,
    /// True if there was no path for a time between.
    pub after_gap: bool,
}

/// A time without a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrbitGap {
    /// Its first row.
    pub start: Span,
    /// Its end.
    pub end: Span,
    /// Why there was no path.
    pub reason: String,
}

/// The path over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrbitSeries {
    /// The satellites in words.
    pub source: String,
    /// Number of satellites.
    pub satellites: u64,
    /// The place at which it begins.
    pub from: String,
    /// The places at which it may end.
    pub to: Vec<String>,
    /// Date and time of the start.
    pub epoch: String,
    /// Time from the start to the end.
    pub duration: Span,
    /// Time from the epoch to the start of the run that it belongs to.
    #[serde(skip)]
    pub start: Span,
    /// Rows in the order of time.
    pub rows: Vec<OrbitRow>,
    /// Changes of the path.
    pub handovers: Vec<OrbitHandover>,
    /// Times without a path.
    pub gaps: Vec<OrbitGap>,
    /// Remarks about sources and assumptions.
    pub notes: Vec<String>,
}

impl OrbitSeries {
    /// The series as the trace of a link from the start of the run on: its delays and outages.
    pub(crate) fn trace(&self) -> Trace {
        let start = self.start;
        let ends = self.rows.iter().skip(1).map(|row| row.at).chain([self.duration]);
        let change = |(row, end): (&OrbitRow, Span)| {
            let at = row.at.max(start);
            let outage = row.outage.then(|| end.saturating_sub(at));
            let (at, delay) = (at.saturating_sub(start), Some(row.delay));
            let rate = row.signal.as_ref().map(|signal| signal.rate);
            let loss = row.signal.as_ref().map(|signal| f64::from(u8::from(signal.is_lost)));
            Change { at, every: None, rate, delay, outage, loss }
        };
        let rows = self.rows.iter().zip(ends).filter(|(_, end)| *end > start);
        Trace {
            changes: rows.map(change).collect(),
            lasts: self.duration.saturating_sub(start),
            notes: self.notes.clone(),
            ..Trace::default()
        }
    }
}

/// Computes the series of a file.
pub(super) fn run(setup: &Setup) -> Result<OrbitSeries, Vec<Refused>> {
    let Setup { satellites, from, to, sight, to_sight, relay, rule, when, outage, .. } = setup;
    let request = Request {
        satellites,
        from,
        to,
        tracks: &setup.tracks,
        sight: *sight,
        to_sight: *to_sight,
        relay: relay.clone(),
        rule: *rule,
        when: *when,
        outage: *outage,
        epoch: setup.epoch,
        duration: setup.duration,
        step: setup.step,
        seed: setup.seed,
        full: false,
    };
    let series = series(&request).map_err(|error| vec![decayed(setup, &error)])?;
    let Some(first) = series.rows.iter().find_map(|row| row.path.as_ref()) else {
        return Err(vec![never(setup, &series)]);
    };
    let mut delay = rounded(first.delay_s());
    let rows = series.rows.iter().map(|row| {
        delay = row.path.as_ref().map_or(delay, |path| rounded(path.delay_s()));
        in_words(setup, row, delay)
    });
    let mut rows: Vec<_> = rows.collect();
    let mut notes = setup.notes.clone();
    if let Some(signal) = &setup.signal {
        let heard = Heard::new(signal, &series.rows, setup.step, setup.duration);
        rows = with_signal(rows, &heard?, setup.duration);
        notes.push(summary(&rows, setup));
    }
    Ok(OrbitSeries {
        source: setup.source.clone(),
        satellites: satellites.len() as u64,
        from: from.name.clone(),
        to: to.iter().map(|place| place.name.clone()).collect(),
        epoch: setup.epoch.to_string(),
        duration: setup.duration,
        start: setup.start,
        rows,
        handovers: series.handovers.iter().map(|one| handover(setup, one)).collect(),
        gaps: series.gaps.iter().map(|gap| gap_in_words(setup, gap)).collect(),
        notes,
    })
}

/// The rows with their signal, and further rows where only the signal changes.
fn with_signal(rows: Vec<OrbitRow>, heard: &Heard<'_>, duration: Span) -> Vec<OrbitRow> {
    let mut times = heard.times(duration).into_iter().peekable();
    let mut all: Vec<OrbitRow> = Vec::with_capacity(rows.len());
    let mut rows = rows.into_iter().peekable();
    while let Some(mut row) = rows.next() {
        while times.next_if(|at| *at <= row.at).is_some() {}
        let has_path = row.elevation_deg.is_some();
        row.signal = Some(heard.row(row.at, has_path));
        let end = rows.peek().map_or(duration, |next| next.at);
        all.push(row);
        while let Some(at) = times.next_if(|at| *at < end) {
            let before = all[all.len() - 1].clone();
            all.push(OrbitRow { at, signal: Some(heard.row(at, has_path)), ..before });
        }
    }
    all
}

/// Signal and rate from the start of the run on, in words.
fn summary(rows: &[OrbitRow], setup: &Setup) -> String {
    let ends = rows.iter().skip(1).map(|row| row.at).chain([setup.duration]);
    let (mut time, mut bits, mut lost, mut changes) = (0.0, 0.0, 0.0, 0_u64);
    let (mut rates, mut levels) = ([f64::INFINITY, 0.0], [f64::INFINITY, f64::NEG_INFINITY]);
    let mut last = None;
    for (row, end) in rows.iter().zip(ends).filter(|(_, end)| *end > setup.start) {
        let Some(signal) = &row.signal else { continue };
        let seconds = end.saturating_sub(row.at.max(setup.start)).as_secs_f64();
        let rate = signal.rate.bits_per_second() as f64 / 1e6;
        rates = [rates[0].min(rate), rates[1].max(rate)];
        if let Some(level) = signal.es_n0_db {
            levels = [levels[0].min(level), levels[1].max(level)];
        }
        changes += u64::from(last.is_some_and(|last| last != signal.modcod));
        last = Some(signal.modcod);
        time += seconds;
        bits += rate * seconds;
        lost += if signal.is_lost { seconds } else { 0.0 };
    }
    let [slowest, fastest] = rates;
    let [weakest, strongest] = levels;
    format!(
        "the rate follows the signal: Es/N0 from {weakest:.1} to {strongest:.1} dB, rate from \
         {slowest:.2} to {fastest:.2} Mbit/s, mean {:.2} Mbit/s, {changes} changes of modulation \
         and code, all packets lost for {lost:.2} s",
        bits / time
    )
}

/// The position of a place at a time.
fn position(setup: &Setup, place: &Place, at: Span) -> [f64; 3] {
    let track = setup.tracks.iter().find(|track| track.name() == place.name);
    let moved = track.map(|track| track.at(at.as_secs_f64()));
    let place = moved.as_ref().unwrap_or(place);
    [place.latitude_deg, place.longitude_deg, place.altitude_km]
}

/// A delay in whole nanoseconds, as links have them.
fn rounded(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

fn name(setup: &Setup, satellite: u32) -> String {
    setup.satellites.get(satellite as usize).map_or_else(String::new, |one| one.name.clone())
}

fn in_words(setup: &Setup, row: &Row, delay: Span) -> OrbitRow {
    let Row { at, path, silent, visible, to_visible } = row;
    let path = path.as_ref();
    let ends = path.map(Path::ends);
    OrbitRow {
        at: *at,
        delay,
        outage: *silent || path.is_none(),
        elevation_deg: path.map(|path| path.look.elevation_deg),
        azimuth_deg: path.map(|path| path.look.azimuth_deg),
        visible: u64::from(*visible),
        satellite: ends.map(|[first, _]| name(setup, first)),
        to: path.and_then(|path| setup.to.get(path.to as usize)).map(|place| place.name.clone()),
        to_elevation_deg: path.map(|path| path.to_look.elevation_deg),
        to_azimuth_deg: path.map(|path| path.to_look.azimuth_deg),
        to_visible: u64::from(*to_visible),
        to_satellite: ends.map(|[_, last]| name(setup, last)),
        lasers: path.map(|path| path.lasers() as u64),
        ranges_km: path.map(|path| [path.look.range_km, path.to_look.range_km]),
        below_deg: path.map(|path| {
            [&path.look, &path.to_look].map(|look| [look.latitude_deg, look.longitude_deg])
        }),
        places: [
            Some(position(setup, &setup.from, *at)),
            path.and_then(|path| setup.to.get(path.to as usize))
                .map(|place| position(setup, place, *at)),
        ],
        signal: None,
    }
}

fn handover(setup: &Setup, one: &Handover) -> OrbitHandover {
    let Handover { at, before, after, after_gap, outage } = one;
    let [old, new] = [before, after].map(Path::ends);
    let place = match (old[0] != new[0], old[1] != new[1] || before.to != after.to) {
        (true, true) => "both",
        (true, false) => "first",
        (false, true) => "last",
        (false, false) => "between",
    };
    OrbitHandover {
        at: *at,
        place,
        satellites: [old, new].map(|ends| name(setup, ends[0])),
        to_satellites: [old, new].map(|ends| name(setup, ends[1])),
        delays: [before, after].map(|path| rounded(path.delay_s())),
        outage: *outage,
        after_gap: *after_gap,
    }
}

fn gap_in_words(setup: &Setup, gap: &Gap) -> OrbitGap {
    let mut reasons: Vec<_> = gap
        .unseen
        .iter()
        .map(|unseen| {
            let sight = if unseen.place == setup.from.name { setup.sight } else { setup.to_sight };
            let miss = miss(&sight, &unseen.miss);
            let satellite = name(setup, unseen.satellite);
            format!("{} sees no satellite: {satellite} is the nearest, {miss}", unseen.place)
        })
        .collect();
    if gap.no_common > 0 {
        reasons.push("no satellite is in sight of both ends".to_owned());
    }
    if gap.no_route > 0 {
        reasons.push("no laser links connect the satellites of both ends".to_owned());
    }
    OrbitGap { start: gap.start, end: gap.end, reason: reasons.join("; ") }
}

/// How far a satellite is from being seen.
fn miss(sight: &Sight, miss: &Miss) -> String {
    match (miss, sight.bound) {
        (Miss::Below(by), Bound::Elevation(least)) => {
            format!("{by:.2} degrees below the minimum elevation of {least}")
        }
        (Miss::Below(by), Bound::Range(_)) => format!("{by:.2} degrees too low"),
        (Miss::Beyond(by), Bound::Range(most)) => {
            format!("{by:.1} km beyond the longest distance of {most:.1} km")
        }
        (Miss::Beyond(by), Bound::Elevation(_)) => format!("{by:.1} km too far"),
        (Miss::NearArc(by), _) => {
            let least = sight.arc_deg.unwrap_or_default();
            format!("{by:.2} degrees within the {least} degrees around the geostationary arc")
        }
    }
}

/// The error of a satellite without a position.
fn decayed(setup: &Setup, error: &PropagationError) -> Refused {
    let PropagationError { satellite, line, days, reason } = error;
    let found = format!("{satellite}, without one {days:.1} days after the epoch of its elements");
    let path = ["walker", "elements"][usize::from(setup.elements.is_some())];
    let refused = Refused::new(path, "satellites with an orbit for the whole duration", found);
    let refused = refused.because(format!("it has decayed ({reason})"));
    match (&setup.elements, line) {
        (Some(file), Some(line)) => refused.elsewhere(FilePlace {
            file: Some(file.clone()),
            line: Some(*line),
            ..FilePlace::default()
        }),
        _ => refused,
    }
}

/// The error of places that have no path at any time.
fn never(setup: &Setup, series: &Series) -> Refused {
    let reasons: Vec<_> =
        series.gaps.iter().map(|gap| gap_in_words(setup, gap).reason).take(1).collect();
    let from_sees =
        !series.gaps.iter().flat_map(|gap| &gap.unseen).any(|one| one.place == setup.from.name);
    let path = if from_sees { "to" } else { "from" };
    let expected = format!("places with a path within {}", setup.duration);
    Refused::new(path, expected, "none at any time").because(reasons.join(""))
}
