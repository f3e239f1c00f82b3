//! Paths over satellites that move.

use std::path::PathBuf;

use pyo3::prelude::*;
use scenario::orbit::{CONSTELLATIONS, OrbitFile, OrbitSeries as Computed};

use crate::errors::orbit_error;
use crate::record::record;

record! {
    /// A constellation with a name.
    Constellation {
        /// Name in files of `bentpipe orbit`.
        name: &'static str,
        /// Description in one sentence.
        summary: &'static str,
        /// Number of satellites.
        satellites: u64,
        /// Origin of its values.
        source: &'static str,
        /// `read in its source`, `measured`, `secondary source`, `reconstructed`.
        certainty: &'static str,
        /// Values that are less certain, or that were chosen here.
        notes: Vec<&'static str>,
    }
}

record! {
    /// A change of a path over satellites.
    OrbitHandover {
        /// Time since the epoch.
        t_s: f64,
        /// `first`, `last` or `both`, if satellites at the ends change, and `between` otherwise.
        place: &'static str,
        /// The first satellite before.
        satellite_before: String,
        /// The first satellite from then on.
        satellite_after: String,
        /// The last satellite before.
        to_satellite_before: String,
        /// The last satellite from then on.
        to_satellite_after: String,
        /// One-way delay before.
        delay_before_ms: f64,
        /// One-way delay from then on.
        delay_after_ms: f64,
        /// The outage that follows.
        outage_s: f64,
        /// True if there was no path for a time between.
        after_gap: bool,
    }
}

record! {
    /// A time without a path over satellites.
    OrbitGap {
        /// Its first row.
        start_s: f64,
        /// Its end.
        end_s: f64,
        /// Why there was no path.
        reason: String,
    }
}

record! {
    /// A path over satellites that move.
    ///
    /// Its columns have one value for each row, which holds until the next one.
    OrbitSeries {
        /// The satellites in words.
        source: String,
        /// Number of satellites.
        satellites: u64,
        /// The place at which it begins.
        from_place: String,
        /// The places at which it may end.
        to_places: Vec<String>,
        /// Date and time of the start.
        epoch: String,
        /// Time from the start to the end.
        duration_s: f64,
        /// Column: time since the epoch.
        t_s: Vec<f64>,
        /// Column: one-way delay. Without a path, that of the last path, or of the first one.
        delay_ms: Vec<f64>,
        /// Column: 1 if no packet passes.
        outage: Vec<u64>,
        /// Column: data rate, empty if the file has no signal.
        rate_bps: Vec<u64>,
        /// Column: 1 while the signal is too weak, so that all is lost; empty without a signal.
        loss_ratio: Vec<u64>,
        /// Column: elevation of the first satellite at the first place.
        elevation_deg: Vec<Option<f64>>,
        /// Column: its azimuth, from north over east.
        azimuth_deg: Vec<Option<f64>>,
        /// Column: satellites that the first place may use.
        visible: Vec<u64>,
        /// Column: the first satellite.
        satellite: Vec<Option<String>>,
        /// Column: the place at the end.
        to: Vec<Option<String>>,
        /// Column: elevation of the last satellite at the last place.
        to_elevation_deg: Vec<Option<f64>>,
        /// Column: its azimuth, from north over east.
        to_azimuth_deg: Vec<Option<f64>>,
        /// Column: satellites that the last place may use.
        to_visible: Vec<u64>,
        /// Column: the last satellite.
        to_satellite: Vec<Option<String>>,
        /// Column: laser links of the path.
        lasers: Vec<Option<u64>>,
        /// Column: distance of the first place and the first satellite.
        range_km: Vec<Option<f64>>,
        /// Column: distance of the last place and the last satellite.
        to_range_km: Vec<Option<f64>>,
        /// Column: latitude of the point below the first satellite.
        satellite_latitude_deg: Vec<Option<f64>>,
        /// Column: its longitude, east positive.
        satellite_longitude_deg: Vec<Option<f64>>,
        /// Column: latitude of the point below the last satellite.
        to_satellite_latitude_deg: Vec<Option<f64>>,
        /// Column: its longitude, east positive.
        to_satellite_longitude_deg: Vec<Option<f64>>,
        /// Column: latitude of the first place.
        from_latitude_deg: Vec<Option<f64>>,
        /// Column: its longitude, east positive.
        from_longitude_deg: Vec<Option<f64>>,
        /// Column: its height above the ellipsoid.
        from_altitude_km: Vec<Option<f64>>,
        /// Column: latitude of the place at the end.
        to_latitude_deg: Vec<Option<f64>>,
        /// Column: its longitude, east positive.
        to_longitude_deg: Vec<Option<f64>>,
        /// Column: its height above the ellipsoid.
        to_altitude_km: Vec<Option<f64>>,
        /// Column: attenuation by rain at the first place, empty without a signal.
        rain_db: Vec<Option<f64>>,
        /// Column: Es/N0 between the first place and its satellite; empty without a signal.
        es_n0_db: Vec<Option<f64>>,
        /// Column: modulation and code, empty without a signal.
        modcod: Vec<String>,
        /// Changes of the path.
        handovers: Vec<OrbitHandover>,
        /// Times without a path.
        gaps: Vec<OrbitGap>,
        /// Remarks about sources and assumptions.
        notes: Vec<String>,
    }
}

/// All constellations with a name, in the order of `bentpipe constellations`.
#[pyfunction]
pub fn constellations() -> Vec<Constellation> {
    let entry = |one: &scenario::orbit::Constellation| Constellation {
        name: one.name,
        summary: one.summary,
        satellites: one.total().into(),
        source: one.source,
        certainty: one.certainty.name(),
        notes: one.notes.to_vec(),
    };
    CONSTELLATIONS.iter().map(entry).collect()
}

/// Compute the path of a file of `bentpipe orbit`; `OrbitError` with the places of errors.
#[pyfunction]
pub fn orbit(py: Python<'_>, file: PathBuf) -> PyResult<OrbitSeries> {
    let computed = py.detach(|| OrbitFile::load(&file).and_then(|file| file.run()));
    computed.map(columns).map_err(orbit_error)
}

/// The names of the columns of an `OrbitSeries`, in the order of its files.
#[pyfunction]
pub fn orbit_columns() -> Vec<&'static str> {
    scenario::orbit::columns()
}

/// The JSON Schema of files of `bentpipe orbit`.
#[pyfunction]
pub fn orbit_schema() -> String {
    scenario::orbit::schema().to_string()
}

/// The reference of the keys of these files in Markdown, a part of `docs/orbit.md`.
#[pyfunction]
pub fn orbit_reference() -> String {
    scenario::orbit::reference()
}

fn columns(series: Computed) -> OrbitSeries {
    let Computed {
        source,
        satellites,
        from,
        to,
        epoch,
        duration,
        start: _, // of a scenario, and zero here
        rows,
        handovers,
        gaps,
        notes,
    } = series;
    macro_rules! column {
        ($row:ident => $value:expr) => {
            rows.iter().map(|$row| $value).collect()
        };
    }
    let signals = || rows.iter().filter_map(|row| row.signal.as_ref());
    OrbitSeries {
        source,
        satellites,
        from_place: from,
        to_places: to,
        epoch,
        duration_s: duration.as_secs_f64(),
        t_s: column!(row => row.at.as_secs_f64()),
        delay_ms: column!(row => row.delay.as_millis_f64()),
        outage: column!(row => row.outage.into()),
        rate_bps: signals().map(|one| one.rate.bits_per_second()).collect(),
        loss_ratio: signals().map(|one| one.is_lost.into()).collect(),
        elevation_deg: column!(row => row.elevation_deg),
        azimuth_deg: column!(row => row.azimuth_deg),
        visible: column!(row => row.visible),
        satellite: column!(row => row.satellite.clone()),
        to: column!(row => row.to.clone()),
        to_elevation_deg: column!(row => row.to_elevation_deg),
        to_azimuth_deg: column!(row => row.to_azimuth_deg),
        to_visible: column!(row => row.to_visible),
        to_satellite: column!(row => row.to_satellite.clone()),
        lasers: column!(row => row.lasers),
        range_km: column!(row => row.ranges_km.map(|[first, _]| first)),
        to_range_km: column!(row => row.ranges_km.map(|[_, last]| last)),
        satellite_latitude_deg: column!(row => row.below_deg.map(|[[latitude, _], _]| latitude)),
        satellite_longitude_deg: column!(row => row.below_deg.map(|[[_, longitude], _]| longitude)),
        to_satellite_latitude_deg: column!(row => row.below_deg.map(|[_, [latitude, _]]| latitude)),
        to_satellite_longitude_deg: column!(
            row => row.below_deg.map(|[_, [_, longitude]]| longitude)
        ),
        from_latitude_deg: column!(row => row.places[0].map(|[latitude, ..]| latitude)),
        from_longitude_deg: column!(row => row.places[0].map(|[_, longitude, _]| longitude)),
        from_altitude_km: column!(row => row.places[0].map(|[.., altitude]| altitude)),
        to_latitude_deg: column!(row => row.places[1].map(|[latitude, ..]| latitude)),
        to_longitude_deg: column!(row => row.places[1].map(|[_, longitude, _]| longitude)),
        to_altitude_km: column!(row => row.places[1].map(|[.., altitude]| altitude)),
        rain_db: signals().map(|one| one.rain_db).collect(),
        es_n0_db: signals().map(|one| one.es_n0_db).collect(),
        modcod: signals().map(|one| one.modcod.to_owned()).collect(),
        handovers: handovers.into_iter().map(handover).collect(),
        gaps: gaps.into_iter().map(gap).collect(),
        notes,
    }
}

fn handover(one: scenario::orbit::OrbitHandover) -> OrbitHandover {
    let scenario::orbit::OrbitHandover {
        at,
        place,
        satellites: [satellite_before, satellite_after],
        to_satellites: [to_satellite_before, to_satellite_after],
        delays,
        outage,
        after_gap,
    } = one;
    let [delay_before_ms, delay_after_ms] = delays.map(units::Span::as_millis_f64);
    OrbitHandover {
        t_s: at.as_secs_f64(),
        place,
        satellite_before,
        satellite_after,
        to_satellite_before,
        to_satellite_after,
        delay_before_ms,
        delay_after_ms,
        outage_s: outage.as_secs_f64(),
        after_gap,
    }
}

fn gap(one: scenario::orbit::OrbitGap) -> OrbitGap {
    let scenario::orbit::OrbitGap { start, end, reason } = one;
    OrbitGap { start_s: start.as_secs_f64(), end_s: end.as_secs_f64(), reason }
}
