//! The files of `bentpipe orbit` as people write them: the types behind the TOML file and its JSON
//! Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Span;

use crate::document::{FileName, Modem};

/// A path over satellites that move.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Bentpipe orbit")]
#[schemars(rename = "Orbit")]
pub(crate) struct Document {
    /// Name of a constellation. `bentpipe constellations` lists them. Give one of `constellation`,
    /// `walker`, `elements` and `geostationary`.
    #[schemars(extend("examples" = ["starlink-550"]))]
    pub constellation: Option<String>,
    /// Shells of a Walker constellation.
    #[serde(default)]
    pub walker: Vec<Walker>,
    /// Text file with two-line elements, relative to this file. Lines with names are optional.
    pub elements: Option<FileName>,
    /// Longitudes of geostationary satellites in degrees, east positive.
    #[serde(default)]
    pub geostationary: Vec<Longitude>,
    /// Date and time of the start in UTC, as `2026-11-27T12:00:00Z`. Elements of a constellation
    /// are those of this time. A file of `bentpipe orbit` requires it. A scenario has an `epoch` of
    /// its own, which is the default there and at which the run starts.
    #[schemars(extend("x-format" = "date", "examples" = ["2026-11-27T12:00:00Z"]))]
    pub epoch: Option<String>,
    /// Time from the start to the end. A file of `bentpipe orbit` requires it. In `link.orbit` the
    /// default is the end of the run.
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "8784h"))]
    pub duration: Option<Span>,
    /// Time between the rows of the series.
    #[serde(default = "second")]
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "1h"))]
    pub step: Span,
    /// The place at which the path begins, where the user is: the name of a `place`, or of a city
    /// that Bentpipe knows.
    #[schemars(extend("examples" = ["Paris"]))]
    pub from: String,
    /// The place at which the path ends, or a list of places. With a list, the path ends at the one
    /// that is best: the gateway that the satellite sees from the smallest distance, or the place
    /// with the shortest path over laser links.
    pub to: Ends,
    /// Places by their coordinates, or by files with their ways.
    #[serde(default)]
    pub place: Vec<Position>,
    /// The relay: `"bent-pipe"`, a satellite that both ends see, or `"lasers"`, the shortest path
    /// over laser links between satellites. Each satellite has links to its two neighbours in the
    /// plane, and to the satellites of the same number in the two neighbouring planes.
    #[serde(default)]
    pub relay: Relay,
    /// True if laser links connect the last plane with the first one. Default: false for a star,
    /// and otherwise true.
    pub seam: Option<bool>,
    /// Longest laser link in km. Default: the longest one whose beam stays 80 km above the ground.
    #[schemars(range(max = 100_000.0), extend("exclusiveMinimum" = 0))]
    pub laser_range_km: Option<f64>,
    /// Minimum elevation of satellites that places use, in degrees. Default: that of the
    /// constellation.
    #[schemars(range(min = -10.0, max = 90.0))]
    pub minimum_elevation_deg: Option<f64>,
    /// Longest distance between a place and a satellite that it uses, in km, in the place of a
    /// minimum elevation. This is the flat cone of Hypatia.
    #[schemars(range(max = 100_000.0), extend("exclusiveMinimum" = 0))]
    pub range_km: Option<f64>,
    /// Minimum elevation at the places in `to`, in degrees. Default: as at the first place.
    #[schemars(range(min = -10.0, max = 90.0))]
    pub to_minimum_elevation_deg: Option<f64>,
    /// Smallest angle between a satellite in use and the geostationary arc, in degrees, at the
    /// place in `from`. Starlink's filing of 2021 has 22. Default: no protection of the arc.
    #[schemars(range(min = 0.0, max = 90.0))]
    pub arc_deg: Option<f64>,
    /// The rule for the choice among the satellites in sight: `"shortest"`, the path that is
    /// shortest from end to end, `"highest"`, `"nearest"`, `"longest"`, the one that stays in sight
    /// for the longest time, or `"random"`. A bent pipe measures at the place in `from`. With
    /// lasers, each end chooses for itself, except with `"shortest"`.
    #[serde(default)]
    pub choice: Choice,
    /// Times of the choice: `"step"` is each row, `"slot"` the seconds 12, 27, 42 and 57 of each
    /// minute in UTC, as Starlink does, and when the satellite is lost, `"loss"` only when it is
    /// lost.
    #[serde(default)]
    pub when: When,
    /// Outage when the first or the last satellite changes: `"none"`, `"leoem"`, which is three
    /// times the delay of the old and of the new hop to the ground, or a time. Changes between
    /// other satellites have none.
    #[serde(default)]
    pub outage: Outage,
    /// The signal between the place in `from` and its satellite, and a modem that adapts to it
    /// (ACM). The rate of the path follows from both. Default: the path has no rate.
    pub signal: Option<Signal>,
    /// Seed of random choices.
    #[serde(default = "one")]
    pub seed: u64,
}

/// A signal that follows distance and rain, and a modem that adapts to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signal {
    /// Es/N0 in clear sky in dB, Es being the energy of a symbol, when the satellite is at
    /// `reference_elevation_deg`. At another distance d it is 20 log10(d / d_reference) dB less.
    /// One number stands for the power and the antennas of both ends.
    #[schemars(range(min = -20, max = 100))]
    pub es_n0: f64,
    /// Elevation at which `es_n0` applies, in degrees. The default is a satellite in the zenith.
    #[serde(default = "zenith")]
    #[schemars(range(min = 0.0, max = 90.0))]
    pub reference_elevation_deg: f64,
    /// Modem with adaptive coding and modulation. A name stands for the modem with its defaults,
    /// and a table sets parameters.
    pub modem: Modem,
    /// Attenuation by rain: a constant in dB at all elevations, or a CSV or Parquet file with a
    /// column for each elevation, as `bentpipe rain event --elevations 25,40,60,90` writes it. Its
    /// time is that since the `epoch`. Default: clear sky.
    pub attenuation: Option<Attenuation>,
    /// Noise temperature of the receiver in clear sky in K. Rain with an attenuation of A dB adds
    /// 275 (1 - 10^(-A/10)) K. Default: rain adds no noise.
    #[schemars(range(max = 100_000), extend("exclusiveMinimum" = 0))]
    pub system_temperature: Option<f64>,
}

fn zenith() -> f64 {
    90.0
}

/// Decibels, or a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Attenuation {
    Constant(#[schemars(range(min = 0, max = 200))] f64),
    File(FileName),
}

fn second() -> Span {
    Span::from_secs(1)
}

fn one() -> u64 {
    1
}

/// A longitude in degrees.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Longitude(#[schemars(range(min = -180.0, max = 360.0))] pub f64);

/// One place, or several.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Ends {
    One(#[schemars(extend("examples" = ["Frankfurt"]))] String),
    Several(#[schemars(length(min = 1))] Vec<End>),
}

/// The name of a place.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct End(#[schemars(extend("examples" = ["Frankfurt"]))] pub String);

/// The planes of one altitude and inclination.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Walker {
    /// Name with which the names of its satellites begin.
    #[serde(default = "shell")]
    #[schemars(length(min = 1, max = 60), extend("examples" = ["shell-1"]))]
    pub name: String,
    /// Altitude in km above the equatorial radius of 6378.135 km. Give this or `mean_motion`.
    #[schemars(range(min = 100.0, max = 100_000.0))]
    pub altitude_km: Option<f64>,
    /// Revolutions per day, as in two-line elements.
    #[schemars(range(min = 0.1, max = 17.0))]
    pub mean_motion: Option<f64>,
    /// Inclination in degrees.
    #[schemars(range(min = 0.0, max = 180.0))]
    pub inclination_deg: f64,
    /// Number of planes.
    #[schemars(range(min = 1, max = 1000))]
    pub planes: u32,
    /// Number of satellites in each plane.
    #[schemars(range(min = 1, max = 1000))]
    pub per_plane: u32,
    /// Number of satellites, which must be `planes` times `per_plane`. It is a check of both.
    pub total: Option<u32>,
    /// Planes over 360 degrees, `"delta"`, or over 180 degrees, `"star"`.
    #[serde(default)]
    pub pattern: Pattern,
    /// Angle between neighbouring planes, in the place of equal ones.
    #[schemars(range(max = 360.0), extend("exclusiveMinimum" = 0))]
    pub plane_spacing_deg: Option<f64>,
    /// Walker's phasing F, from 0 to below the number of planes, or `"hypatia"`: odd planes are
    /// shifted by half of the distance of their satellites.
    #[serde(default)]
    pub phasing: Phasing,
    /// Right ascension of the first plane at the epoch, in degrees.
    #[serde(default)]
    #[schemars(range(min = -360.0, max = 360.0))]
    pub node_deg: f64,
    /// Argument of latitude of its first satellite at the epoch, in degrees.
    #[serde(default)]
    #[schemars(range(min = -360.0, max = 360.0))]
    pub anomaly_deg: f64,
}

fn shell() -> String {
    "walker".to_owned()
}

/// Planes over a circle or over half of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pattern {
    #[default]
    Delta,
    Star,
}

/// A number, or the rule of Hypatia.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Phasing {
    Factor(#[schemars(range(min = 0.0, max = 999.0))] f64),
    Rule(PhasingRule),
}

impl Default for Phasing {
    fn default() -> Self {
        Self::Factor(0.0)
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PhasingRule {
    Hypatia,
}

/// A place by its geodetic coordinates (WGS84), or by a file with its way.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Position {
    /// Name, for `from` and `to`.
    #[schemars(length(min = 1, max = 60), extend("examples" = ["Delft"]))]
    pub name: String,
    /// Latitude, north positive. A place that does not move requires it.
    #[schemars(range(min = -90.0, max = 90.0))]
    pub latitude_deg: Option<f64>,
    /// Longitude, east positive. A place that does not move requires it.
    #[schemars(range(min = -180.0, max = 360.0))]
    pub longitude_deg: Option<f64>,
    /// Height above the ellipsoid. Default: 0.
    #[schemars(range(min = -1.0, max = 20.0))]
    pub altitude_km: Option<f64>,
    /// CSV or Parquet file with the way of a ship or an aircraft, in the place of coordinates. Its
    /// columns are `t_s`, seconds since the `epoch`, or `utc`, a date and time; `latitude_deg`;
    /// `longitude_deg`; and, if it is not 0, `altitude_km`, `altitude_m` or `altitude_ft`. The way
    /// between two rows is part of a great circle. Rows are at most an hour apart, and the speed
    /// is at most 0.5 km/s.
    pub track: Option<FileName>,
}

/// One satellite, or links between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Relay {
    #[default]
    BentPipe,
    Lasers,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Choice {
    #[default]
    Shortest,
    Highest,
    Nearest,
    Longest,
    Random,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum When {
    #[default]
    Step,
    Slot,
    Loss,
}

/// A word, or a time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Outage {
    Word(OutageWord),
    Time(#[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))] Span),
}

impl Default for Outage {
    fn default() -> Self {
        Self::Word(OutageWord::None)
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OutageWord {
    None,
    Leoem,
}
