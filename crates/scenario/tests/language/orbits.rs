//! Paths over satellites in scenarios: `link.orbit`, `trace = { orbit = ... }` and `epoch`.

use language::Errors;
use scenario::Loaded;
use scenario::model::Change;
use tempfile::TempDir;

/// An orbit as a file and as a table: a satellite of a small constellation, with outages.
const KEYS: &str = "minimum_elevation_deg = 10\nfrom = \"Istanbul\"\nto = \"Nairobi\"\n\
    relay = \"lasers\"\noutage = \"leoem\"\nstep = \"5s\"\nwalker = [{ altitude_km = 1200, \
    inclination_deg = 60, planes = 6, per_plane = 8, phasing = 1 }]\n";
const EPOCH: &str = "epoch = 2026-11-27T12:00:00Z\n";
/// Elements of a satellite above the equator (values of this project, not of a real one).
const ELEMENTS: &str = "\
1 00001U 26001A   26331.50000000  .00000000  00000-0  00000-0 0  9990
2 00001   0.0100 120.0000 0001000   0.0000   0.0000  1.00270000    19
";

/// A folder with a file of an orbit for an hour, and one that names elements.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("sky")).unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.toml", format!("{EPOCH}duration = \"1h\"\n{KEYS}"));
    write("sky/elements.tle", ELEMENTS.to_owned());
    let keys = "elements = \"elements.tle\"\nminimum_elevation_deg = -10\nrange_km = 50000\n";
    let keys = keys.replace("minimum_elevation_deg = -10\n", "");
    let ends = "from = \"Istanbul\"\nto = \"Nairobi\"\nstep = \"5s\"\n";
    write("sky/b.toml", format!("{EPOCH}duration = \"1h\"\n{keys}{ends}"));
    folder
}

/// A scenario of 2 minutes with these lines at its top and these keys of its link.
fn load(folder: &TempDir, top: &str, keys: &str) -> Result<Loaded, Errors> {
    let text = format!(
        "duration = \"2min\"\n{top}[[link]]\nbetween = [\"a\", \"b\"]\n{keys}\n[[flow]]\n\
         from = \"a\"\nto = \"b\"\ncontroller = \"reno\"\ntraffic = {{ bulk = \"unlimited\" }}\n"
    );
    Loaded::parse(&text, folder.path().join("flight.toml"), &[])
}

fn changes(folder: &TempDir, top: &str, keys: &str) -> [Vec<Change>; 2] {
    let loaded = load(folder, top, keys).unwrap_or_else(|errors| panic!("{errors}"));
    let link = &loaded.scenario.links[0];
    [&link.forward, &link.backward].map(|side| side.trace.timeline.changes().to_vec())
}

fn table(more: &str) -> String {
    format!("orbit = {{ {more}{} }}", KEYS.trim_end().replace('\n', ", "))
}

#[test]
fn a_file_and_a_table_are_the_same_as_a_trace() {
    let folder = folder();
    let of = |top: &str, keys: &str| changes(&folder, top, &format!("rate = \"1Mbit/s\"\n{keys}"));
    let [forward, backward] = of("", "trace = { orbit = \"a.toml\" }");
    assert!(forward.len() > 700 && forward == backward);
    let same = |other: &[Change]| {
        let equal = forward.iter().zip(other).all(|(one, other)| one == other);
        assert!(equal && !other.is_empty());
    };
    same(&of("", "orbit = \"a.toml\"")[0]);
    // The table has the epoch of the scenario, or its own, and ends with the run.
    for (top, keys) in [(EPOCH, table("")), ("", table("epoch = 2026-11-27T12:00:00Z, "))] {
        let [forward, backward] = of(top, &keys);
        assert!((24..60).contains(&forward.len()) && forward == backward, "{}", forward.len());
        same(&forward[..24]);
    }
    let [forward, backward] = of("", "delay = \"3ms\"\nforward.orbit = \"a.toml\"");
    same(&forward);
    assert!(backward.is_empty());
}

/// The path at a time does not depend on the start of the run.
#[test]
fn a_run_starts_at_the_epoch_of_the_scenario() {
    let folder = folder();
    let at = |top: &str, keys: &str| {
        let [found, _] = changes(&folder, top, &format!("rate = \"1Mbit/s\"\n{keys}"));
        found
    };
    let whole = at("", "orbit = \"a.toml\"");
    for later in [0, 600, 602] {
        let (minutes, seconds) = (later / 60, later % 60);
        let top = format!("epoch = 2026-11-27T12:{minutes:02}:{seconds:02}Z\n");
        for keys in ["orbit = \"a.toml\"", "trace = { orbit = \"a.toml\" }"] {
            let found = at(&top, keys);
            let start = units::Span::from_secs(later);
            let begins = |one: &&Change| one.at >= start;
            let rest: Vec<_> = whole.iter().filter(begins).collect();
            // The row of before holds at the start.
            let first = usize::from(!later.is_multiple_of(5));
            assert_eq!(found.len(), rest.len() + first, "{later}");
            assert_eq!(found[0].at, units::Span::ZERO);
            for (one, other) in found[first..].iter().zip(rest) {
                assert_eq!(
                    (one.at + start, one.delay, one.outage),
                    (other.at, other.delay, other.outage)
                );
            }
        }
    }
}

#[test]
fn rates_of_a_trace_and_delays_of_an_orbit_are_one_trace() {
    let folder = folder();
    std::fs::write(folder.path().join("d.txt"), "1\n3\n").unwrap();
    std::fs::write(folder.path().join("t.csv"), "t_s,delay_ms\n0,3\n100,5\n200,3\n").unwrap();
    let keys = "trace = { deliveries = \"d.txt\", loop = true }\nforward.orbit = \"a.toml\"\ndelay = \"1ms\"";
    let [forward, backward] = changes(&folder, "", keys);
    let has = |found: &[Change]| {
        let delays = found.iter().any(|one| one.delay.is_some());
        (found.iter().any(|one| one.rate.is_some()), delays)
    };
    assert_eq!((has(&forward), has(&backward)), ((true, true), (true, false)));
    let errors = load(&folder, "", "rate = \"1Mbit/s\"\ntrace = \"t.csv\"\norbit = \"a.toml\"");
    let message = errors.unwrap_err().to_string();
    assert!(
        message.contains("link[0].orbit: expected no `orbit` with a trace that has delays"),
        "{message}"
    );
    assert_eq!(message.lines().filter(|line| line.contains("expected")).count(), 1, "{message}");
}

#[test]
fn bad_input_is_answered_with_its_place() {
    let folder = folder();
    let early = "epoch = 2026-11-27T11:00:00Z\n";
    let late = "epoch = 2026-11-27T12:59:00Z\n";
    let cases = [
        (
            "epoch = \"noon\"\n",
            "orbit = \"a.toml\"".to_owned(),
            "flight.toml:2:9: epoch: expected a date",
        ),
        ("", table(""), "flight.toml:5:9: link[0].orbit: expected `epoch`, a date and time"),
        (
            early,
            "orbit = \"a.toml\"".to_owned(),
            "a.toml:1:9: link[0].orbit: expected 2026-11-27T11:00:00Z or before",
        ),
        (
            late,
            "orbit = \"a.toml\"".to_owned(),
            "a.toml:2:12: link[0].orbit: expected at least 3660s",
        ),
        (
            EPOCH,
            table("").replace("Nairobi", "Nairoby"),
            "link[0].orbit.to: expected the name of a place, found \"Nairoby\"",
        ),
        (EPOCH, table("").replace("Nairobi", "Nairoby"), "did you mean \"Nairobi\"?"),
        (
            EPOCH,
            table("").replace("planes", "plains"),
            "link[0].orbit.walker[0].plains: expected a key",
        ),
        (EPOCH, table("duration = \"1min\", "), "link[0].orbit.duration: expected at least 120s"),
        (EPOCH, "orbit = \"c.toml\"".to_owned(), "no such file"),
    ];
    for (top, keys, expected) in cases {
        let errors = load(&folder, top, &format!("rate = \"1Mbit/s\"\n{keys}")).unwrap_err();
        assert!(errors.to_string().contains(expected), "{expected}: {errors}");
    }
    let trace = "rate = \"1Mbit/s\"\ntrace = { orbit = \"a.toml\" }";
    let errors = load(&folder, late, trace).unwrap_err().to_string();
    assert!(
        errors.contains("a trace that lasts for the `duration` of 120s, found one of 60s"),
        "{errors}"
    );
}

/// The elements are in the folder, and the scenario has the table in the place of the file.
#[test]
fn a_packed_scenario_has_the_elements_of_its_orbit() {
    let folder = folder();
    for keys in ["orbit = \"sky/b.toml\"", "trace = { orbit = \"sky/b.toml\" }"] {
        let loaded = load(&folder, "", &format!("rate = \"1Mbit/s\"\n{keys}"));
        let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
        let packed = loaded.given.packed(&loaded.scenario, 1);
        let [(name, place)] = &packed.files[..] else { panic!("{:?}", packed.files) };
        assert_eq!(name, "input-0.tle");
        assert_eq!(std::fs::read_to_string(place).unwrap(), ELEMENTS);
        assert_eq!(
            scenario::files(&packed.text, std::path::Path::new("")),
            std::slice::from_ref(name)
        );
        let moved = TempDir::new().unwrap();
        std::fs::copy(place, moved.path().join(name)).unwrap();
        let again = Loaded::parse(&packed.text, moved.path().join("scenario.toml"), &[]);
        let again = again.unwrap_or_else(|errors| panic!("{errors}\n{}", packed.text));
        let trace = |loaded: &Loaded| loaded.scenario.links[0].forward.trace.timeline.clone();
        assert_eq!(trace(&again).changes(), trace(&loaded).changes());
        // A file for this machine names the file of the orbit.
        assert!(loaded.given.to_toml(&loaded.scenario, 1).contains("sky/b.toml"));
    }
}

#[test]
fn files_of_a_scenario_include_those_that_its_orbits_name() {
    let folder = folder();
    let names = |trace: &str| {
        let text = format!("[[link]]\nbetween = [\"a\", \"b\"]\n{trace}\n");
        scenario::files(&text, folder.path())
    };
    let orbit = std::fs::read_to_string(folder.path().join("sky/b.toml")).unwrap();
    let elements = orbit.split('"').find(|text| text.ends_with(".tle")).unwrap().to_owned();
    let expected = ["sky/b.toml".to_owned(), format!("sky/{elements}")];
    assert_eq!(names("orbit = \"sky/b.toml\""), expected);
    assert_eq!(names("trace = { orbit = \"sky/b.toml\" }"), expected);
    assert_eq!(names("orbit = \"sky/absent.toml\""), ["sky/absent.toml"]);
    assert_eq!(names("trace = \"sky/b.csv\""), ["sky/b.csv"]);
}

#[test]
fn a_kind_of_rates_is_that_of_the_file() {
    let folder = folder();
    std::fs::write(folder.path().join("r.csv"), "t_s,rate_mbps\n0,3\n100,5\n").unwrap();
    std::fs::write(folder.path().join("t.csv"), "t_s,achieved_mbps\n0,3\n100,5\n").unwrap();
    let of = |trace: &str| load(&folder, "", &format!("delay = \"1ms\"\ntrace = {trace}"));
    let achieved = |trace: &str| of(trace).unwrap().scenario.links[0].forward.trace.achieved;
    assert!(achieved("\"t.csv\"") && !achieved("\"r.csv\""));
    assert!(achieved("{ file = \"r.csv\", kind = \"achieved\" }"));
    let orbit = "{ orbit = \"a.toml\", kind = \"achieved\" }\nrate = \"1Mbit/s\"";
    for (trace, expected) in [
        ("{ file = \"t.csv\", kind = \"capacity\" }", "expected \"achieved\" for the column"),
        (orbit, "link[0].trace.kind: expected no `kind` without rates"),
    ] {
        let message = of(trace).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_signal_of_an_orbit_determines_the_rate() {
    let folder = folder();
    let signal = "signal = { es_n0 = 12, modem = \"dvb-s2\" }, ";
    let own = table(signal);
    let [forward, backward] = changes(&folder, EPOCH, &own);
    assert!(forward.iter().all(|one| one.rate.is_some()) && forward == backward);
    let refused = |keys: &str, expected: &str| {
        let message = load(&folder, EPOCH, keys).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    refused(
        &format!("rate = \"1Mbit/s\"\n{own}"),
        "link[0].rate: expected no rate with the `signal` of an `orbit`, found 1Mbit/s",
    );
    refused(
        &format!("channel = {{ es_n0 = 12, modem = \"dvb-s2\" }}\n{own}"),
        "expected one modem in a direction, found another one in the `channel`",
    );
    std::fs::write(folder.path().join("d.txt"), "1\n3\n").unwrap();
    refused(
        &format!("trace = {{ deliveries = \"d.txt\", loop = true }}\n{own}"),
        "link[0].orbit: expected no `orbit` with a `signal` with a trace that has rates, found both",
    );
    // A rate of both directions is that of the other one.
    let one = own.replacen("orbit", "forward.orbit", 1);
    let [forward, backward] =
        changes(&folder, EPOCH, &format!("rate = \"1Mbit/s\"\ndelay = \"3ms\"\n{one}"));
    assert!(forward[0].rate.is_some() && backward.is_empty());
}
