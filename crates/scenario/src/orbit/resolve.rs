//! The meaning of a file of `bentpipe orbit`.

use std::path::PathBuf;

use language::Refused;
use language::error::Place as FilePlace;
use orbit::elements::{mean_motion, parse, radius_km};
use orbit::walker::geostationary;
use orbit::{
    Bound, EARTH_RADIUS_KM, Grid, Lasers, Outage, Place, Relay, Rule, Satellite, Shell, Sight,
    Track, Utc, When, places,
};
use units::Span;

use super::constellations::{CONSTELLATIONS, Constellation};
use super::document::{self, Document, Ends, OutageWord, Pattern, PhasingRule, Walker};
use super::files::{self, Files};
use super::signal::{self, Signal};

/// Most rows of a series, as of a trace.
const MOST_ROWS: u64 = 4_000_000;
/// Most satellites: several times as many as are in orbit.
const MOST_SATELLITES: u64 = 100_000;
/// Difference in km of two altitudes that count as the same: a mean motion of two decimals is one
/// of 1.6 km, and the flattening of the Earth moves orbits by some km.
const SAME_KM: f64 = 5.0;
/// Days after which two-line elements are old: their error grows by about a kilometre a day.
const OLD_DAYS: f64 = 7.0;

/// All that a series needs.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// Time from the epoch to the start of the run; zero outside of a scenario.
    pub start: Span,
    /// The satellites in words.
    pub source: String,
    pub satellites: Vec<Satellite>,
    pub elements: Option<PathBuf>,
    pub from: Place,
    pub to: Vec<Place>,
    /// Ways of places that move.
    pub tracks: Vec<Track>,
    pub sight: Sight,
    pub to_sight: Sight,
    pub relay: Relay,
    pub rule: Rule,
    pub when: When,
    pub outage: Outage,
    pub epoch: Utc,
    pub duration: Span,
    pub step: Span,
    pub signal: Option<Signal>,
    pub seed: u64,
    /// Remarks for people.
    pub notes: Vec<String>,
}

/// The satellites of a file.
#[derive(Default)]
struct Satellites {
    source: String,
    all: Vec<Satellite>,
    /// The shells, if they have planes.
    shells: Vec<Shell>,
    seam: bool,
    bound: Option<Bound>,
    elements: Option<PathBuf>,
    notes: Vec<String>,
}

type Faults = Vec<Refused>;

/// The times of the scenario that an orbit belongs to; none for a file on its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    /// UTC at the start of the run.
    pub epoch: Option<Utc>,
    /// Duration of the run, at whose end the series ends by default.
    pub duration: Option<Span>,
}

/// The form of an epoch.
pub(crate) const DATE: &str =
    "a date and time from 1957 to 2200 with its zone, as \"2026-11-27T12:00:00Z\"";

/// The setup of an orbit, or all of its faults. `files` finds the files that it names, and `run`
/// are the times of the scenario that it belongs to.
pub(super) fn resolve(document: &Document, files: Files<'_>, run: Run) -> Result<Setup, Faults> {
    let mut faults = Faults::new();
    let times = times(document, run, &mut faults);
    let (known, tracks) = known(document, files, times.as_ref(), &mut faults);
    let (from, to) = ends(document, &known, &mut faults);
    let satellites = match &times {
        Some(times) => {
            let elements = document.elements.as_ref().map(|name| files("elements", name));
            satellites(document, elements, times.epoch, &mut faults)
        }
        None => None,
    };
    let (Some(times), Some(from), Some(mut satellites)) = (times, from, satellites) else {
        return Err(faults);
    };
    let Times { epoch, start, duration } = times;
    let sights = sights(document, satellites.bound, &mut faults);
    let relay = relay(document, &satellites, &mut faults);
    let (Some((sight, to_sight)), Some(relay), true) = (sights, relay, faults.is_empty()) else {
        return Err(faults);
    };
    let signal = document.signal.as_ref();
    let signal = signal.map(|one| signal::resolve(one, files, duration)).transpose()?;
    satellites.notes.extend(age(&satellites, epoch));
    Ok(Setup {
        source: satellites.source,
        satellites: satellites.all,
        elements: satellites.elements,
        from,
        to,
        tracks,
        sight,
        to_sight,
        relay,
        rule: rule(document.choice),
        when: match document.when {
            document::When::Step => When::Step,
            document::When::Slot => When::Slot,
            document::When::Loss => When::Loss,
        },
        outage: match document.outage {
            document::Outage::Word(OutageWord::None) => Outage::None,
            document::Outage::Word(OutageWord::Leoem) => Outage::LeoEm,
            document::Outage::Time(time) => Outage::Time(time),
        },
        epoch,
        start,
        duration,
        step: document.step,
        signal,
        seed: document.seed,
        notes: satellites.notes,
    })
}

/// Times of a series.
struct Times {
    epoch: Utc,
    start: Span,
    duration: Span,
}

/// The epoch, the start of the run after it, and the time from the epoch to the end.
fn times(document: &Document, run: Run, faults: &mut Faults) -> Option<Times> {
    let written = match document.epoch.as_ref().map(|text| (text, Utc::parse(text))) {
        Some((text, None)) => {
            faults.push(Refused::new("epoch", DATE, quoted(text)));
            return None;
        }
        Some((_, epoch)) => epoch,
        None => None,
    };
    let Some(epoch) = written.or(run.epoch) else {
        faults.push(Refused::new("", format!("`epoch`, {DATE}"), "none"));
        return None;
    };
    let since = run.epoch.map_or(0, |start| start.as_nanos() - epoch.as_nanos());
    let Ok(start) = u64::try_from(since).map(Span::from_nanos) else {
        let begins = run.epoch.unwrap_or(epoch);
        let expected = format!("{begins} or before, because the run starts then");
        faults.push(Refused::new("epoch", expected, epoch.to_string()));
        return None;
    };
    let Some(duration) = document.duration.or(run.duration.map(|run| start + run)) else {
        faults.push(Refused::new("", "`duration`, the time from the start to the end", "none"));
        return None;
    };
    let least = start + run.duration.unwrap_or(Span::ZERO);
    if duration < least || duration <= start {
        let expected = format!("at least {least}, the time from the `epoch` to the end of the run");
        faults.push(Refused::new("duration", expected, duration.to_string()));
    }
    let rows = duration.as_nanos().div_ceil(document.step.as_nanos());
    if duration < document.step * 2 || rows > MOST_ROWS {
        let expected = format!("2 to {MOST_ROWS} steps of {}", document.step);
        let key = if document.duration.is_some() { "duration" } else { "step" };
        faults.push(Refused::new(key, expected, duration.to_string()));
    }
    Some(Times { epoch, start, duration })
}

fn quoted(text: &str) -> String {
    language::describe::quoted_short(text)
}

fn rule(choice: document::Choice) -> Rule {
    match choice {
        document::Choice::Shortest => Rule::Shortest,
        document::Choice::Highest => Rule::Highest,
        document::Choice::Nearest => Rule::Nearest,
        document::Choice::Longest => Rule::Longest,
        document::Choice::Random => Rule::Random,
    }
}

/// Places by their names, and the tracks of moving ones.
fn known(
    document: &Document,
    files: Files<'_>,
    times: Option<&Times>,
    faults: &mut Faults,
) -> (Vec<Place>, Vec<Track>) {
    let mut known: Vec<Place> = Vec::new();
    let mut tracks = Vec::new();
    for (number, place) in document.place.iter().enumerate() {
        if known.iter().any(|one| one.name == place.name) {
            let path = format!("place.{number}.name");
            faults.push(Refused::new(
                &path,
                "a name that no place before it has",
                quoted(&place.name),
            ));
        }
        let track = track(place, number, files, times, faults);
        known.push(match &track {
            Some(track) => track.at(0.0),
            None => Place {
                name: place.name.clone(),
                latitude_deg: place.latitude_deg.unwrap_or_default(),
                longitude_deg: place.longitude_deg.unwrap_or_default(),
                altitude_km: place.altitude_km.unwrap_or_default(),
            },
        });
        tracks.extend(track);
    }
    known.extend(places());
    (known, tracks)
}

/// The way of a place, if it moves. A place has coordinates or a way.
fn track(
    place: &document::Position,
    number: usize,
    files: Files<'_>,
    times: Option<&Times>,
    faults: &mut Faults,
) -> Option<Track> {
    let key = format!("place.{number}.track");
    let document::Position { name, latitude_deg, longitude_deg, altitude_km, track } = place;
    let Some(file) = track else {
        for (part, value) in [("latitude_deg", latitude_deg), ("longitude_deg", longitude_deg)] {
            if value.is_none() {
                let expected = format!("`{part}`, or a `track` with the way of the place");
                faults.push(Refused::new(&format!("place.{number}"), expected, "none"));
            }
        }
        return None;
    };
    if [latitude_deg, longitude_deg, altitude_km].iter().any(|one| one.is_some()) {
        faults.push(Refused::new(&key, "no `track` with coordinates", "both"));
        return None;
    }
    let Times { epoch, duration, .. } = times?;
    let file = files(&key, file);
    match files::track(&file, name, *epoch, *duration) {
        Ok(track) => Some(track),
        Err(fault) => {
            faults.push(files::refused(&key, *fault, &file));
            None
        }
    }
}

/// The places at which the path begins and ends.
fn ends(document: &Document, known: &[Place], faults: &mut Faults) -> (Option<Place>, Vec<Place>) {
    let mut find = |path: &str, name: &String| {
        let found = known.iter().find(|place| place.name == *name).cloned();
        if found.is_none() {
            let names = known.iter().map(|place| place.name.as_str());
            let refused = Refused::new(path, "the name of a place", quoted(name));
            faults.push(refused.because("[[place]] gives a name to coordinates").nearest(names));
        }
        found
    };
    let from = find("from", &document.from);
    let to: Vec<_> = match &document.to {
        Ends::One(name) => find("to", name).into_iter().collect(),
        Ends::Several(names) => {
            let names = names.iter().enumerate();
            names.filter_map(|(number, end)| find(&format!("to.{number}"), &end.0)).collect()
        }
    };
    if let Some(from) = &from
        && to.iter().any(|place| place.name == from.name)
    {
        faults.push(Refused::new("to", "a place other than `from`", quoted(&from.name)));
    }
    (from, to)
}

/// The satellites of the one key that has them.
fn satellites(
    document: &Document,
    file: Option<PathBuf>,
    epoch: Utc,
    faults: &mut Faults,
) -> Option<Satellites> {
    let given = [
        ("constellation", document.constellation.is_some()),
        ("walker", !document.walker.is_empty()),
        ("elements", document.elements.is_some()),
        ("geostationary", !document.geostationary.is_empty()),
    ];
    let given: Vec<_> = given.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect();
    let [key] = given[..] else {
        let expected = "one of `constellation`, `walker`, `elements` and `geostationary`";
        let found = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
        faults.push(Refused::new(given.last().unwrap_or(&""), expected, found));
        return None;
    };
    let before = faults.len();
    let found = match key {
        "constellation" => named(document, epoch, faults)?,
        "walker" => walker(document, epoch, faults),
        "elements" => elements(document, file?, faults)?,
        _ => above_the_equator(document, epoch, faults),
    };
    (faults.len() == before).then_some(found)
}

/// A constellation with a name.
fn named(document: &Document, epoch: Utc, faults: &mut Faults) -> Option<Satellites> {
    let name = document.constellation.as_ref()?;
    let Some(found) = CONSTELLATIONS.iter().find(|one| one.name == *name) else {
        let refused = Refused::new("constellation", "the name of a constellation", quoted(name));
        let refused = refused.because("`bentpipe constellations` lists them");
        faults.push(refused.nearest(CONSTELLATIONS.iter().map(|one| one.name)));
        return None;
    };
    let Constellation { name, bound, seam, lasers, source, certainty, notes, .. } = found;
    let mut satellites = Satellites {
        source: (*name).to_owned(),
        shells: found.shells(),
        seam: *seam,
        bound: Some(*bound),
        notes: vec![format!("{name}: {source} ({})", certainty.name())],
        ..Satellites::default()
    };
    satellites.notes.extend(notes.iter().map(|note| format!("{name}: {note}")));
    let phases = "the phasing of its planes and their place at the epoch are not filed: odd planes are shifted by half a spacing";
    satellites.notes.push(format!("{name}: {phases}"));
    if !lasers && document.relay == document::Relay::Lasers {
        satellites.notes.push(format!("{name}: its satellites have no laser links"));
    }
    make(&mut satellites, "constellation", epoch, faults);
    Some(satellites)
}

/// Propagators of all satellites of the shells.
fn make(satellites: &mut Satellites, path: &str, epoch: Utc, faults: &mut Faults) {
    for shell in &satellites.shells {
        match shell.satellites(epoch) {
            Ok(made) => satellites.all.extend(made),
            Err(reason) => {
                let refused = Refused::new(path, "an orbit around the Earth", quoted(&shell.name));
                faults.push(refused.because(reason));
            }
        }
    }
}

/// Shells of a Walker constellation.
fn walker(document: &Document, epoch: Utc, faults: &mut Faults) -> Satellites {
    let mut satellites =
        Satellites { source: "Walker constellation".to_owned(), ..Satellites::default() };
    let total: u64 =
        document.walker.iter().map(|one| u64::from(one.planes) * u64::from(one.per_plane)).sum();
    if total > MOST_SATELLITES {
        let expected = format!("at most {MOST_SATELLITES} satellites");
        faults.push(Refused::new("walker", expected, total.to_string()));
        return satellites;
    }
    for (number, walker) in document.walker.iter().enumerate() {
        if let Some(shell) = shell(walker, number, faults) {
            let (name, motion) = (&shell.name, shell.mean_motion);
            satellites.notes.push(format!(
                "{name}: {} satellites, {:.1} km, {motion:.4} revolutions a day",
                shell.total(),
                shell.altitude_km()
            ));
            satellites.shells.push(shell);
        }
    }
    satellites.seam = document.walker.iter().all(|one| one.pattern == Pattern::Delta);
    make(&mut satellites, "walker", epoch, faults);
    satellites
}

/// One shell.
fn shell(walker: &Walker, number: usize, faults: &mut Faults) -> Option<Shell> {
    let path = |key: &str| format!("walker.{number}.{key}");
    let total = walker.planes * walker.per_plane;
    if let Some(found) = walker.total.filter(|found| *found != total) {
        let expected =
            format!("{total}, which is {} planes times {}", walker.planes, walker.per_plane);
        faults.push(Refused::new(&path("total"), expected, found.to_string()));
    }
    let mean_motion = match (walker.altitude_km, walker.mean_motion) {
        (None, None) => {
            let expected = "`altitude_km` or `mean_motion`";
            faults.push(Refused::new(&format!("walker.{number}"), expected, "none of them"));
            return None;
        }
        (Some(altitude), None) => mean_motion(EARTH_RADIUS_KM + altitude),
        (None, Some(motion)) => motion,
        (Some(altitude), Some(motion)) => {
            let own = radius_km(motion) - EARTH_RADIUS_KM;
            if (own - altitude).abs() > SAME_KM {
                let per_day = mean_motion(EARTH_RADIUS_KM + altitude);
                let expected = format!(
                    "{own:.1}, the altitude of {motion} revolutions a day, up to {SAME_KM} km"
                );
                let refused = Refused::new(&path("altitude_km"), expected, altitude.to_string());
                faults.push(
                    refused.because(format!("an altitude of {altitude} km has {per_day:.4}")),
                );
            }
            motion
        }
    };
    let phasing = match walker.phasing {
        document::Phasing::Rule(PhasingRule::Hypatia) => orbit::Phasing::Hypatia,
        document::Phasing::Factor(factor) => {
            if factor >= f64::from(walker.planes) {
                let expected = format!("a phasing from 0 to below the {} planes", walker.planes);
                faults.push(Refused::new(&path("phasing"), expected, factor.to_string()));
            }
            orbit::Phasing::Factor(factor)
        }
    };
    let (name, inclination) = (&walker.name, walker.inclination_deg);
    let made = Shell::circular(name, 0.0, inclination, walker.planes, walker.per_plane, phasing);
    let made = if walker.pattern == Pattern::Star { made.star() } else { made };
    Some(Shell {
        mean_motion,
        spacing_deg: walker.plane_spacing_deg.unwrap_or(made.spacing_deg),
        node_deg: walker.node_deg,
        anomaly_deg: walker.anomaly_deg,
        ..made
    })
}

/// Satellites from two-line elements.
fn elements(document: &Document, path: PathBuf, faults: &mut Faults) -> Option<Satellites> {
    let name = &document.elements.as_ref()?.0;
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let found = match error.kind() {
                std::io::ErrorKind::NotFound => "no such file".to_owned(),
                _ => format!("one that cannot be read ({error})"),
            };
            faults.push(Refused::new("elements", "a file with two-line elements", found));
            return None;
        }
    };
    match parse(&text) {
        Ok(all) => Some(Satellites {
            source: name.clone(),
            all,
            elements: Some(path),
            ..Satellites::default()
        }),
        Err(error) => {
            let place =
                FilePlace { file: Some(path), line: Some(error.line), ..FilePlace::default() };
            let refused = Refused::new("elements", error.expected, error.found);
            faults.push(refused.elsewhere(place));
            None
        }
    }
}

/// Geostationary satellites.
fn above_the_equator(document: &Document, epoch: Utc, faults: &mut Faults) -> Satellites {
    let mut satellites = Satellites { source: "geostationary".to_owned(), ..Satellites::default() };
    for longitude in &document.geostationary {
        match geostationary(longitude.0, epoch) {
            Ok(satellite) => satellites.all.push(satellite),
            Err(reason) => faults.push(Refused::new("geostationary", "an orbit", reason)),
        }
    }
    satellites
}

/// A remark about elements that are far from the epoch.
fn age(satellites: &Satellites, epoch: Utc) -> Option<String> {
    satellites.elements.as_ref()?;
    let days = |one: &Satellite| epoch.minutes_since(one.epoch) / 1440.0;
    let oldest = satellites.all.iter().map(days).max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
    (oldest.abs() > OLD_DAYS).then(|| {
        let side = if oldest > 0.0 { "before" } else { "after" };
        format!(
            "elements are up to {:.0} days {side} the epoch; their error grows by about a kilometre a day",
            oldest.abs()
        )
    })
}

/// The views of the first place and of the last ones.
fn sights(
    document: &Document,
    usual: Option<Bound>,
    faults: &mut Faults,
) -> Option<(Sight, Sight)> {
    let bound = match (document.minimum_elevation_deg, document.range_km) {
        (Some(_), Some(range)) => {
            let expected = "no `range_km` with `minimum_elevation_deg`";
            faults.push(Refused::new("range_km", expected, range.to_string()));
            return None;
        }
        (Some(elevation), None) => Some(Bound::Elevation(elevation)),
        (None, Some(range)) => Some(Bound::Range(range)),
        (None, None) => usual,
    };
    let Some(bound) = bound else {
        let expected = "`minimum_elevation_deg` or `range_km`";
        let refused = Refused::new("", expected, "none of them");
        faults.push(refused.because("only constellations with a name have a default"));
        return None;
    };
    let sight = Sight { bound, arc_deg: document.arc_deg };
    let other = document.to_minimum_elevation_deg.map_or(bound, Bound::Elevation);
    Some((sight, Sight { bound: other, arc_deg: None }))
}

/// The relay, with the links of its lasers.
fn relay(document: &Document, satellites: &Satellites, faults: &mut Faults) -> Option<Relay> {
    if document.relay == document::Relay::BentPipe {
        let without = [
            ("seam", document.seam.is_some()),
            ("laser_range_km", document.laser_range_km.is_some()),
        ];
        for (key, _) in without.into_iter().filter(|(_, given)| *given) {
            let expected = format!("no `{key}` without relay = \"lasers\"");
            faults.push(Refused::new(key, expected, "one"));
        }
        return Some(Relay::BentPipe);
    }
    if satellites.shells.is_empty() {
        let expected = "\"bent-pipe\", or the planes of a `walker` or a `constellation`";
        let refused = Refused::new("relay", expected, "\"lasers\"");
        faults.push(refused.because("laser links are between neighbouring planes"));
        return None;
    }
    let seam = document.seam.unwrap_or(satellites.seam);
    let grid = Grid::plus(&satellites.shells, seam, document.laser_range_km);
    Some(Relay::Lasers(Lasers { grid }))
}
