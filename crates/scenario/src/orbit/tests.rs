use std::path::Path as FilePath;

use super::*;

const FILE: &str = r#"
epoch = 2026-11-27T10:00:00Z
duration = "5min"
constellation = "starlink-550"
from = "Paris"
to = "Frankfurt"
choice = "highest"
when = "slot"
outage = "250ms"

[[place]]
name = "Frankfurt"
latitude_deg = 50.11
longitude_deg = 8.68
"#;

const VANGUARD: &str = "\
VANGUARD 1
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667
";

fn parse(text: &str) -> Result<OrbitFile, String> {
    OrbitFile::parse(text, FilePath::new("orbit.toml")).map_err(|errors| errors.to_string())
}

fn series(text: &str) -> OrbitSeries {
    parse(text).unwrap().run().unwrap()
}

/// The message of a changed file, without its excerpt.
fn message(from: &str, to: &str) -> String {
    let text = FILE.replace(from, to);
    assert_ne!(text, FILE, "{from}");
    let errors = match OrbitFile::parse(&text, FilePath::new("orbit.toml")) {
        Ok(file) => file.run().unwrap_err(),
        Err(errors) => errors,
    };
    errors.to_string().lines().next().unwrap().to_owned()
}

#[test]
fn a_series_has_a_row_for_each_step_and_end_of_an_outage() {
    let found = series(FILE);
    assert_eq!((found.satellites, found.source.as_str()), (1584, "starlink-550"));
    let with_outage = found.handovers.iter().filter(|one| one.outage.as_secs_f64() > 0.0).count();
    assert!(with_outage > 2);
    assert_eq!(found.rows.len(), 300 + with_outage);
    let row = &found.rows[0];
    assert_eq!((row.lasers, row.to.as_deref()), (Some(0), Some("Frankfurt")));
    assert!(row.elevation_deg.unwrap() > 25.0 && row.visible > 0);
    assert!(row.satellite.as_ref().unwrap().starts_with("starlink-550/"));
    // Two hops of at least 550 km.
    assert!(row.delay.as_millis_f64() > 3.6 && row.delay.as_millis_f64() < 8.0, "{}", row.delay);
    assert!(found.notes[0].contains("FCC 21-48 (first generation, 4,408 satellites) (secondary"));
    assert!(found.gaps.is_empty());
}

#[test]
fn the_trace_of_a_series_has_its_delays_and_outages() {
    let found = series(FILE);
    let trace = found.trace();
    assert_eq!(trace.lasts, found.duration);
    assert_eq!(trace.changes.len(), found.rows.len());
    for (change, row) in trace.changes.iter().zip(&found.rows) {
        assert_eq!((change.at, change.delay), (row.at, Some(row.delay)));
        assert_eq!(change.outage.is_some(), row.outage);
    }
    let outages: Vec<_> = trace.changes.iter().filter_map(|change| change.outage).collect();
    assert!(outages.iter().all(|outage| outage.as_millis_f64() == 250.0) && !outages.is_empty());
}

#[test]
fn bad_input_is_answered_with_its_place() {
    let rows = [
        (
            "\"starlink-550\"",
            "\"starlink550\"",
            "orbit.toml:4:17: constellation: expected the name of a constellation, found \"starlink550\": `bentpipe constellations` lists them; did you mean \"starlink-550\"?",
        ),
        (
            "\"Paris\"",
            "\"Pari\"",
            "orbit.toml:5:8: from: expected the name of a place, found \"Pari\": [[place]] gives a name to coordinates; did you mean \"Paris\"?",
        ),
        (
            "to = \"Frankfurt\"",
            "to = [\"Frankfurt\", \"Paris\"]",
            "orbit.toml:6:6: to: expected a place other than `from`, found \"Paris\"",
        ),
        (
            "10:00:00Z",
            "10:00:00",
            "orbit.toml:2:9: epoch: expected a date and time from 1957 to 2200 with its zone, as \"2026-11-27T12:00:00Z\", found \"2026-11-27T10:00:00\"",
        ),
        (
            "\"5min\"",
            "\"1s\"",
            "orbit.toml:3:12: duration: expected 2 to 4000000 steps of 1s, found 1s",
        ),
        (
            "constellation",
            "walker = []\n#",
            ": expected one of `constellation`, `walker`, `elements` and `geostationary`, found none",
        ),
        ("choice", "geostationary = [13]\nchoice", "found constellation and geostationary"),
        (
            "choice",
            "seam = true\nchoice",
            "seam: expected no `seam` without relay = \"lasers\", found one",
        ),
        (
            "choice",
            "range_km = 1000\nminimum_elevation_deg = 30\nchoice",
            "range_km: expected no `range_km` with",
        ),
        ("50.11", "95", "latitude_deg: expected"),
        (
            "constellation = \"starlink-550\"",
            "elements = \"none.tle\"",
            "orbit.toml:4:12: elements: expected a file with two-line elements, found no such file",
        ),
        (
            "constellation = \"starlink-550\"",
            "geostationary = [13]",
            "expected `minimum_elevation_deg` or `range_km`, found none of them",
        ),
    ];
    for (from, to, expected) in rows {
        let found = message(from, to);
        assert!(found.contains(expected), "{found}\n{expected}");
    }
}

#[test]
fn bad_walker_descriptions_are_answered() {
    let walker = |keys: &str| {
        let text = FILE.replace("constellation = \"starlink-550\"", "minimum_elevation_deg = 25");
        let text = format!(
            "{text}\n[[walker]]\ninclination_deg = 53\nplanes = 72\nper_plane = 22\n{keys}"
        );
        match parse(&text) {
            Ok(_) => "valid".to_owned(),
            Err(errors) => errors.lines().next().unwrap().to_owned(),
        }
    };
    assert_eq!(walker("altitude_km = 550\ntotal = 1584"), "valid");
    assert_eq!(walker("altitude_km = 630\nmean_motion = 14.80"), "valid");
    let rows = [
        (
            "altitude_km = 550\ntotal = 1600",
            "total: expected 1584, which is 72 planes times 22, found 1600",
        ),
        (
            "altitude_km = 550\nmean_motion = 15.19",
            "altitude_km: expected 508.9, the altitude of 15.19 revolutions",
        ),
        ("altitude_km = 550\nmean_motion = 15.19", "found 550: an altitude of 550 km has 15.0"),
        ("", "walker[0]: expected `altitude_km` or `mean_motion`, found none of them"),
        (
            "altitude_km = 550\nphasing = 72",
            "phasing: expected a phasing from 0 to below the 72 planes, found 72",
        ),
        ("altitude_km = 50", "altitude_km: expected"),
    ];
    for (keys, expected) in rows {
        let found = walker(keys);
        assert!(found.contains(expected), "{found}\n{expected}");
    }
}

#[test]
fn errors_of_elements_have_their_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = FILE
        .replace(
            "constellation = \"starlink-550\"",
            "elements = \"v.tle\"\nminimum_elevation_deg = 0",
        )
        .replace("2026-11-27", "2000-06-28")
        .replace("\"highest\"", "\"longest\"");
    let file = folder.path().join("orbit.toml");
    let load = |elements: &str| {
        std::fs::write(folder.path().join("v.tle"), elements).unwrap();
        std::fs::write(&file, &text).unwrap();
        OrbitFile::load(&file).and_then(|file| file.run())
    };
    let wrong = load(&VANGUARD.replace("4753", "4759")).unwrap_err().to_string();
    let place = format!("{}:2: elements: ", folder.path().join("v.tle").display());
    assert_eq!(wrong, format!("{place}expected the checksum 3 in column 69, found 9"));
    // One satellite is not always in sight.
    let unseen = load(VANGUARD).unwrap_err().to_string();
    assert!(unseen.contains("none at any time: Paris sees no satellite: VANGUARD 1"), "{unseen}");
    // A low one with much drag has decayed after some days.
    let low = "\
1 00005U 58002B   00100.00000000  .00000000  00000-0  50000-1 0  4752
2 00005  34.2682 348.7242 0010000 331.7664  19.3264 16.30000000413667
";
    let fixed: String = low.lines().map(with_checksum).collect();
    let errors = load(&fixed).unwrap_err().to_string();
    assert!(errors.contains("v.tle:1: elements: expected satellites with an orbit"), "{errors}");
    assert!(errors.contains("it has decayed"), "{errors}");
}

fn with_checksum(line: &str) -> String {
    let content = &line[..68];
    let digit = |c: char| c.to_digit(10).unwrap_or(u32::from(c == '-'));
    format!("{content}{}\n", content.chars().map(digit).sum::<u32>() % 10)
}

#[test]
fn places_that_see_nothing_are_an_error_with_the_miss() {
    let found = message("latitude_deg = 50.11", "latitude_deg = 89");
    let start =
        "orbit.toml:6:6: to: expected places with a path within 300s, found none at any time: ";
    assert!(found.contains("Frankfurt sees no satellite: starlink-550/"), "{found}");
    assert!(found.contains("degrees below the minimum elevation of 25"), "{found}");
    assert!(
        found.starts_with(&start.replace("300s", "5min")) || found.starts_with(start),
        "{found}"
    );
    let far = "[[place]]\nname = \"Far\"\nlatitude_deg = -89\nlongitude_deg = 0\n";
    let text = FILE.replace("\"Paris\"", "\"Far\"").replace("50.11", "89") + far;
    let both = parse(&text).unwrap().run().unwrap_err().to_string();
    for place in ["Far", "Frankfurt"] {
        assert!(both.contains(&format!("{place} sees no satellite: starlink-550/")), "{both}");
    }
}

#[test]
fn a_geostationary_satellite_and_lasers_without_planes() {
    let geo = FILE.replace(
        "constellation = \"starlink-550\"",
        "geostationary = [13]\nminimum_elevation_deg = 5",
    );
    let found = series(&geo);
    assert!(found.handovers.is_empty());
    assert!((found.rows[0].delay.as_millis_f64() - 250.0).abs() < 10.0, "{}", found.rows[0].delay);
    let lasers = parse(&geo.replace("choice", "relay = \"lasers\"\nchoice")).unwrap_err();
    assert!(lasers.contains("relay: expected \"bent-pipe\", or the planes"), "{lasers}");
}

/// Rows, and the signal of the first place.
const SIGNAL: &str = r#"
[signal]
es_n0 = 12
modem = { name = "dvb-s2", bandwidth = 60e6, delay = "50ms" }
"#;

fn signals(found: &OrbitSeries) -> impl Iterator<Item = (&OrbitRow, &OrbitSignal)> {
    found.rows.iter().map(|row| (row, row.signal.as_ref().unwrap()))
}

#[test]
fn the_rate_follows_the_distance_and_the_rain() {
    let found = series(&format!("{FILE}{SIGNAL}"));
    let without = series(FILE);
    // The path is the same, with further rows where the choice changes.
    let delays = |one: &OrbitSeries| -> Vec<_> { one.rows.iter().map(|row| row.delay).collect() };
    assert!(
        found.rows.len() > without.rows.len()
            && delays(&without).iter().all(|one| delays(&found).contains(one))
    );
    let mut rates = std::collections::BTreeSet::new();
    for (row, signal) in signals(&found) {
        let [range, _] = row.ranges_km.unwrap();
        let elevation = row.elevation_deg.unwrap();
        let loss = orbit::station::spreading_db(elevation, range, 90.0);
        if row.at.as_nanos().is_multiple_of(1_000_000_000) {
            assert!((signal.es_n0_db.unwrap() - (12.0 - loss)).abs() < 1e-9);
        }
        assert_eq!(signal.rain_db, Some(0.0));
        rates.insert(signal.rate);
    }
    assert!(rates.len() > 2, "{rates:?}");
    // Rain weakens the signal by its attenuation, and takes rate.
    let rain = series(&format!("{FILE}{SIGNAL}attenuation = 3\n"));
    let mean = |one: &OrbitSeries| {
        signals(one).map(|(_, signal)| signal.rate.bits_per_second() as f64).sum::<f64>()
            / one.rows.len() as f64
    };
    assert!(mean(&rain) < 0.8 * mean(&found));
    let noisy = series(&format!("{FILE}{SIGNAL}attenuation = 3\nsystem_temperature = 150\n"));
    assert!(mean(&noisy) < mean(&rain));
    // At another reference the same satellite is further away there.
    let slanted = series(&format!("{FILE}{SIGNAL}reference_elevation_deg = 30\n"));
    assert!(mean(&slanted) > mean(&found));
    assert!(found.notes.iter().any(|note| note.starts_with("the rate follows the signal: Es/N0")));
}

#[test]
fn the_trace_of_a_signal_has_its_rates_and_losses() {
    let weak = SIGNAL.replace("\"50ms\"", "\"20s\", margin = 0");
    let found = series(&format!("{FILE}{weak}"));
    let lost = signals(&found).filter(|(_, signal)| signal.is_lost).count();
    assert!(lost > 0 && lost < found.rows.len(), "{lost}");
    let trace = found.trace();
    for (change, (row, signal)) in trace.changes.iter().zip(signals(&found)) {
        assert_eq!((change.at, change.rate), (row.at, Some(signal.rate)));
        assert_eq!(change.loss, Some(if signal.is_lost { 1.0 } else { 0.0 }));
    }
}

/// The message of an orbit with one more file.
fn with_file(more: &str, name: &str, content: &str) -> String {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join(name), content).unwrap();
    let file = folder.path().join("orbit.toml");
    std::fs::write(&file, format!("{FILE}{more}")).unwrap();
    match OrbitFile::load(&file).and_then(|file| file.run()) {
        Ok(found) => format!("{:?}", found.rows[0].signal),
        Err(errors) => errors
            .to_string()
            .lines()
            .next()
            .unwrap()
            .replace(&format!("{}/", folder.path().display()), ""),
    }
}

#[test]
fn rain_of_a_moving_path_has_elevations() {
    let more = format!("{SIGNAL}attenuation = \"rain.csv\"\n");
    let of = |content: &str| with_file(&more, "rain.csv", content);
    let rows = [
        ("time_s,elevation_20_db,elevation_90_db\n0,4,2\n300,4,2\n", "rain_db: Some("),
        (
            "time_s,elevation_60_db,elevation_90_db\n0,4,2\n300,4,2\n",
            "found from 60 to 90 degrees: the path has these elevations",
        ),
        (
            "time_s,attenuation_db\n0,4\n300,4\n",
            "rain.csv:1: signal.attenuation: expected a column for each elevation, such as `elevation_30_db`, found \"attenuation_db\": `bentpipe rain event --elevations` writes them",
        ),
        (
            "time_s,elevation_20_db,elevation_90_db\n0,4,2\n100,4,2\n",
            "expected a series that lasts for the `duration` of 300s, found a last sample at 100s",
        ),
        ("time_s,elevation_20_db\n0,4\n100,x\n", "rain.csv:3"),
    ];
    for (content, expected) in rows {
        let found = of(content);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn a_place_moves_by_its_file() {
    let move_it = |text: &str| text.replace("from = \"Paris\"", "from = \"ship\"");
    let more = "[[place]]\nname = \"ship\"\ntrack = \"ship.csv\"\n";
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("orbit.toml");
    std::fs::write(&file, format!("{}{more}", move_it(FILE))).unwrap();
    let run = |content: &str| {
        std::fs::write(folder.path().join("ship.csv"), content).unwrap();
        let loaded = OrbitFile::load(&file).and_then(|file| file.run());
        loaded.map_err(|errors| errors.to_string().lines().next().unwrap().to_owned())
    };
    let rows = "utc,latitude_deg,longitude_deg,altitude_m\n\
        2026-11-27T09:59:00Z,48.8,2.3,100\n2026-11-27T10:05:00Z,48.8,2.9,10000\n";
    let found = run(rows).unwrap();
    let places = |at: usize| found.rows[at].places[0].unwrap();
    let last = found.rows.len() - 1;
    assert!(places(0)[1] > 2.3 && places(last)[1] > places(0)[1] + 0.4, "{:?}", places(last));
    assert!((places(0)[2] - 1.75).abs() < 1e-9, "a sixth of the way: {:?}", places(0));
    let head = "t_s,latitude_deg,longitude_deg\n";
    let faults = [
        (
            format!("{head}0,48.8,2.3\n200,48.8,2.3\n100,48.8,2.3\n"),
            "ship.csv:4: place[1].track: expected a time after 200 s, that of the row before, found 100 s: times must increase",
        ),
        (
            format!("{head}0,48.8,2.3\n150,48.8,12.3\n300,48.8,2.3\n"),
            "ship.csv:3: place[1].track: expected a position that a place reaches at 0.5 km/s or less, found a jump at 4.8",
        ),
        (
            format!("{head}0,48.8,2.3\n9000,48.8,2.3\n"),
            "ship.csv:3: place[1].track: expected a position at most 3600 s after that of the row before, found a gap of 9000 s",
        ),
        (
            format!("{head}0,48.8,2.3\n100,48.8,2.3\n"),
            "ship.csv:3: place[1].track: expected positions for 300s from the epoch on, found positions until 200 s",
        ),
        (
            format!("{head}10,48.8,2.3\n300,48.8,2.3\n"),
            "ship.csv:2: place[1].track: expected positions from the epoch on, found a first one 10 s after it",
        ),
        (
            "t_s,latitude,longitude_deg\n0,48.8,2.3\n300,48.8,2.3\n".to_owned(),
            "found \"latitude\": the name of a column has its unit",
        ),
        (
            "latitude_deg,longitude_deg\n48.8,2.3\n".to_owned(),
            "ship.csv:1: place[1].track: expected a column `t_s` or `utc`, found none",
        ),
        (
            format!("{head}0,98.8,2.3\n300,48.8,2.3\n"),
            "ship.csv:2: place[1].track: expected a latitude in degrees from -90 to 90, found 98.8",
        ),
    ];
    for (content, expected) in faults {
        let found = run(&content).unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
    let both = more.replace("track", "latitude_deg = 3\ntrack");
    std::fs::write(&file, format!("{}{both}", move_it(FILE))).unwrap();
    assert!(
        run(rows).unwrap_err().contains("place[1].track: expected no `track` with coordinates")
    );
    let none = "[[place]]\nname = \"ship\"\nlatitude_deg = 3\n";
    std::fs::write(&file, format!("{}{none}", move_it(FILE))).unwrap();
    let found = run(rows).unwrap_err();
    assert!(found.contains("place[1]: expected `longitude_deg`, or a `track`"), "{found}");
}
