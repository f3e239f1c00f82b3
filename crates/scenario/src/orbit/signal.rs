//! The signal between the first place and its satellite, and the rate of a modem that adapts to it.
//!
//! Es/N0 follows the distance (free-space loss), and rain that depends on the elevation. Both are
//! known at rows of the series and at samples of the rain, and are straight lines in decibels
//! between them. At a change of the satellite they step. The choices of the modem are those of
//! `link::modem`, as on a link that stands still.

use std::collections::BTreeSet;
use std::path::Path as FilePath;

use language::Refused;
use link::{Acm, Fade};
use orbit::station::{slant, spreading_db};
use orbit::{Look, Row};
use units::{Rate, Span, Time};

use super::document;
use super::files::{Files, refused};
use crate::fade::{self, Fault};

/// Measurements of a modem, as on other links.
const MOST_MEASUREMENTS: u64 = 10_000_000;
/// Start and end of the names of columns with the rain of an elevation.
const NAME: [&str; 2] = ["elevation_", "_db"];
const KEY: &str = "signal.attenuation";

/// A signal and a modem.
#[derive(Clone, Debug)]
pub(super) struct Signal {
    /// Without fade.
    clear: link::Signal,
    reference_elevation_deg: f64,
    modem: link::Modem,
    rain: Rain,
}

/// Attenuation by rain.
#[derive(Clone, Debug)]
enum Rain {
    /// At all elevations, in dB.
    Constant(f64),
    /// At each of some elevations, in rising order.
    Elevations(Vec<(f64, Fade)>),
}

/// The values of a row.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct OrbitSignal {
    /// Attenuation by rain in dB; `None` without a path.
    pub rain_db: Option<f64>,
    /// Es/N0 in dB; `None` without a path.
    pub es_n0_db: Option<f64>,
    /// Modulation and code.
    pub modcod: &'static str,
    /// Data rate.
    pub rate: Rate,
    /// True if all packets are lost, because Es/N0 is below the threshold of the choice.
    pub is_lost: bool,
}

/// The signal of a document.
pub(super) fn resolve(
    document: &document::Signal,
    files: Files<'_>,
    duration: Span,
) -> Result<Signal, Vec<Refused>> {
    let document::Signal { es_n0, reference_elevation_deg, modem, attenuation, system_temperature } =
        document;
    let modem = modem.resolve();
    let interval = modem.settings().interval;
    let measurements = duration.as_nanos() / interval.as_nanos().max(1);
    if measurements > MOST_MEASUREMENTS {
        let expected = format!("at most {MOST_MEASUREMENTS} measurements in the `duration`");
        let found = measurements.to_string();
        return Err(vec![Refused::new("signal.modem.interval", expected, found)]);
    }
    let rain = match attenuation {
        None => Rain::Constant(0.0),
        Some(document::Attenuation::Constant(constant)) => Rain::Constant(*constant),
        Some(document::Attenuation::File(name)) => {
            let file = files(KEY, name);
            elevations(&file, duration).map_err(|fault| vec![refused(KEY, *fault, &file)])?
        }
    };
    let clear = link::Signal {
        es_n0: *es_n0,
        system_temperature: *system_temperature,
        fade: Fade::constant(0.0),
    };
    Ok(Signal { clear, reference_elevation_deg: *reference_elevation_deg, modem, rain })
}

/// Reads the series of some elevations.
fn elevations(file: &FilePath, duration: Span) -> Result<Rain, Box<Fault>> {
    let what = "a column for each elevation, such as `elevation_30_db`";
    let mut all = Vec::new();
    for (name, samples) in fade::cells(file, what)? {
        let inner = name.strip_prefix(NAME[0]).and_then(|name| name.strip_suffix(NAME[1]));
        let elevation = inner.and_then(|inner| inner.parse::<f64>().ok());
        let Some(elevation) = elevation.filter(|one| *one > 0.0 && *one <= 90.0) else {
            let fault = Fault::new(Some(1), what, language::describe::quoted_short(&name));
            let reason = "`bentpipe rain event --elevations` writes them";
            return Err(fault.because(reason).into());
        };
        if let Some((expected, found)) = fade::uncovered(&samples, duration) {
            return Err(Fault::new(None, expected, found).into());
        }
        // What `cells` returns has rising times.
        all.push((elevation, Fade::new(samples).unwrap_or(Fade::constant(0.0))));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(Rain::Elevations(all))
}

impl Rain {
    /// The attenuation in dB. Between two elevations it is on the line over the length of a slanted
    /// path through rain of the same height, 1 / sin(elevation).
    fn at(&self, at: Time, elevation_deg: f64) -> f64 {
        let all = match self {
            Self::Constant(constant) => return *constant,
            Self::Elevations(all) => all,
        };
        let above = all.partition_point(|(elevation, _)| *elevation < elevation_deg);
        let above = above.min(all.len() - 1);
        let [low, high] = [above.saturating_sub(1), above].map(|number| &all[number]);
        let [a, b] = [low, high].map(|(_, fade)| fade.at_any(at));
        if low.0 == high.0 {
            return b;
        }
        let [from, to, own] = [low.0, high.0, elevation_deg].map(slant);
        (a + (b - a) * (own - from) / (to - from)).max(0.0)
    }

    /// Times at which the lines begin.
    fn times(&self) -> Vec<Span> {
        let samples = match self {
            Self::Constant(_) => return Vec::new(),
            Self::Elevations(all) => all.first().map_or(&[][..], |(_, fade)| fade.samples()),
        };
        samples.iter().map(|(at, _)| at.since(Time::ZERO)).collect()
    }

    /// Elevations of the path for which there is no rain.
    fn uncovered(&self, [low, high]: [f64; 2]) -> Option<Refused> {
        let Self::Elevations(all) = self else { return None };
        let (least, most) = (all.first()?.0, all.last()?.0);
        (low < least || high > most).then(|| {
            let expected = format!("columns of elevations from {low:.2} to {high:.2} degrees");
            let refused = Refused::new(KEY, expected, format!("from {least} to {most} degrees"));
            refused.because("the path has these elevations")
        })
    }
}

/// The first satellite from one row on.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    from: Span,
    to: Span,
    look: &'a Look,
    /// The same satellite at the end.
    end: Option<&'a Look>,
}

impl Stretch<'_> {
    /// Elevation and distance at a time in it.
    fn at(&self, at: Span) -> (f64, f64) {
        let Self { from, to, look, end } = self;
        let share = at.saturating_sub(*from).as_secs_f64() / to.saturating_sub(*from).as_secs_f64();
        let end = end.unwrap_or(look);
        let between = |a: f64, b: f64| a + share * (b - a);
        let elevation = between(look.elevation_deg, end.elevation_deg);
        (elevation, between(look.range_km, end.range_km))
    }
}

/// The stretches of the rows with a path. Rows at the end of an outage repeat the row before.
fn stretches(rows: &[Row], step: Span, duration: Span) -> Vec<Stretch<'_>> {
    let on_step = |row: &&Row| row.at.as_nanos().is_multiple_of(step.as_nanos());
    let rows: Vec<&Row> = rows.iter().filter(on_step).collect();
    let mut found = Vec::with_capacity(rows.len());
    for (number, &row) in rows.iter().enumerate() {
        let Some(path) = &row.path else { continue };
        let next = rows.get(number + 1).copied();
        let following = next.and_then(|next| next.path.as_ref());
        let end = following.filter(|one| one.ends()[0] == path.ends()[0]).map(|one| &one.look);
        let to = next.map_or(duration, |next| next.at);
        found.push(Stretch { from: row.at, to, look: &path.look, end });
    }
    found
}

/// A signal along a path, with the choices of its modem.
pub(super) struct Heard<'a> {
    signal: &'a Signal,
    stretches: Vec<Stretch<'a>>,
    acm: Acm,
}

impl<'a> Heard<'a> {
    /// The signal along the rows of a path.
    ///
    /// # Errors
    /// If the path has elevations without rain.
    pub fn new(
        signal: &'a Signal,
        rows: &'a [Row],
        step: Span,
        duration: Span,
    ) -> Result<Self, Vec<Refused>> {
        let stretches = stretches(rows, step, duration);
        let elevations = stretches.iter().map(|one| one.look.elevation_deg);
        let range = elevations
            .fold([90.0, -90.0], |[low, high]: [f64; 2], one| [low.min(one), high.max(one)]);
        if let Some(refused) = signal.rain.uncovered(range) {
            return Err(vec![refused]);
        }
        let rain_times = signal.rain.times();
        let mut samples: Vec<(Time, f64)> = Vec::new();
        let mut sample = |stretch: &Stretch<'_>, at: Span| {
            let reduction = signal.clear.es_n0 - signal.es_n0(stretch, at);
            samples.push((Time::ZERO + at, reduction));
        };
        let mut next = 0;
        for stretch in &stretches {
            sample(stretch, stretch.from);
            next += rain_times[next..].partition_point(|at| *at <= stretch.from);
            while let Some(at) = rain_times.get(next).filter(|at| **at < stretch.to) {
                sample(stretch, *at);
                next += 1;
            }
            // The next row has another satellite, or none.
            let last = stretch.to.saturating_sub(Span::from_nanos(1));
            let is_free = rain_times.get(next.saturating_sub(1)) != Some(&last);
            if stretch.end.is_none() && last > stretch.from && is_free {
                sample(stretch, last);
            }
        }
        // Times rise, as those of the rows do.
        let fade = Fade::new(samples).unwrap_or(Fade::constant(0.0));
        let es_n0 = signal.clear.es_n0;
        let heard = link::Signal { es_n0, system_temperature: None, fade };
        Ok(Self { signal, stretches, acm: Acm::new(signal.modem, heard, duration) })
    }

    /// Times at which the choice changes, or packets begin or cease to be lost.
    pub fn times(&self, duration: Span) -> BTreeSet<Span> {
        let choices = self.acm.choices().iter().map(|(at, _)| *at);
        let outages = self.acm.outages().iter().flat_map(|(from, to)| [*from, *to]);
        let all = choices.chain(outages).map(|at| at.since(Time::ZERO));
        all.filter(|at| *at < duration).collect()
    }

    /// The values of a row.
    pub fn row(&self, at: Span, has_path: bool) -> OrbitSignal {
        let now = Time::ZERO + at;
        let number = self.stretches.partition_point(|one| one.from <= at).checked_sub(1);
        let stretch = number.filter(|_| has_path).map(|number| &self.stretches[number]);
        let choice = self.acm.choice(now);
        let outages = self.acm.outages();
        let outage = outages.partition_point(|(from, _)| *from <= now).checked_sub(1);
        OrbitSignal {
            rain_db: stretch.map(|one| self.signal.rain.at(now, one.at(at).0)),
            es_n0_db: stretch.map(|one| self.signal.es_n0(one, at)),
            modcod: choice.name,
            rate: self.acm.modem().settings().rate(choice),
            is_lost: outage.is_some_and(|number| now < outages[number].1),
        }
    }
}

impl Signal {
    /// Es/N0 in dB on a stretch.
    fn es_n0(&self, stretch: &Stretch<'_>, at: Span) -> f64 {
        let (elevation, range) = stretch.at(at);
        let rain = self.rain.at(Time::ZERO + at, elevation);
        self.clear.behind(rain) - spreading_db(elevation, range, self.reference_elevation_deg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rain_between_elevations_follows_the_length_of_the_path() {
        let columns = [(30.0, 6.0), (90.0, 3.0)].map(|(at, db)| (at, Fade::constant(db)));
        let rain = Rain::Elevations(columns.into());
        let at = |elevation| rain.at(Time::ZERO, elevation);
        assert!((at(30.0) - 6.0).abs() < 1e-12 && (at(90.0) - 3.0).abs() < 1e-12);
        // 1 / sin is 2 at 30 degrees, 1 at 90 and 1.1547 at 60.
        assert!((at(60.0) - (3.0 + 3.0 * 0.154_700_54)).abs() < 1e-6, "{}", at(60.0));
        assert!(rain.uncovered([31.0, 89.0]).is_none());
        assert!(rain.uncovered([29.0, 89.0]).is_some());
    }
}
