//! Traces: what files say, and which are refused.

use language::Errors;
use tempfile::TempDir;
use units::{Rate, Span};

use explain::{WarningKind, explain};
use scenario::Loaded;
use scenario::model::{Change, Timeline};

/// A scenario of 2 s with `trace` forward, in a folder with these files.
fn load(trace: &str, files: &[(&str, &str)]) -> Result<Loaded, Errors> {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let text = format!(
        "duration = \"2s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\n\
         delay = \"5ms\"\nforward.trace = {trace}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n\
         controller = \"reno\"\ntraffic = {{ bulk = \"unlimited\" }}\n"
    );
    Loaded::parse(&text, folder.path().join("traced.toml"), &[])
}

fn timeline(trace: &str, files: &[(&str, &str)]) -> Timeline {
    let loaded = load(trace, files).unwrap_or_else(|errors| panic!("{errors}"));
    loaded.scenario.links[0].forward.trace.timeline.clone()
}

/// Time in milliseconds, rate in kbit/s, delay and outage in milliseconds.
type Row = (u64, Option<u64>, Option<u64>, Option<u64>);

fn changes(timeline: &Timeline) -> Vec<Row> {
    let millis = |span: Span| span.as_nanos() / 1_000_000;
    let kbps = |rate: Rate| rate.bits_per_second() / 1000;
    let change = |change: &Change| {
        let Change { at, every: _, rate, delay, outage, loss: _ } = *change;
        (millis(at), rate.map(kbps), delay.map(millis), outage.map(millis))
    };
    timeline.changes().iter().map(change).collect()
}

#[test]
fn a_row_holds_until_the_next_and_a_rate_of_zero_is_an_outage() {
    let rows = "t_s,rate_mbps,delay_ms\n0,2,20\n0.5,0,30\n1.5,4.5,10\n";
    let found = changes(&timeline("\"a.csv\"", &[("a.csv", rows)]));
    assert_eq!(
        found,
        [
            (0, Some(2000), Some(20), None),
            (500, None, Some(30), Some(1000)),
            (1500, Some(4500), Some(10), None),
        ]
    );
}

/// The link keeps the rate of before, or has that of the row, and sends nothing until the next row.
#[test]
fn a_row_with_a_one_in_the_column_outage_is_one() {
    let rows = "t_s,outage,delay_ms\n0,0,20\n0.5,1,30\n1.5,0,10\n";
    let found = changes(&timeline("\"a.csv\"", &[("a.csv", rows)]));
    let expected = [
        (0, None, Some(20), None),
        (500, None, Some(30), Some(1000)),
        (1500, None, Some(10), None),
    ];
    assert_eq!(found, expected);
    let rows = "t_s,outage,rate_mbps\n0,1,2\n1,1,0\n";
    let found = changes(&timeline("\"a.csv\"", &[("a.csv", rows)]));
    assert_eq!(found, [(0, Some(2000), None, Some(1000)), (1000, None, None, Some(1000))]);
    let alone = changes(&timeline("\"a.csv\"", &[("a.csv", "t_s,outage\n0,0\n1,1\n")]));
    assert_eq!(alone, [(0, None, None, None), (1000, None, None, Some(1000))]);
}

#[test]
fn deliveries_are_a_rate_in_their_millisecond_and_silence_between_them() {
    let found = timeline("{ deliveries = \"up\", loop = true }", &[("up", "1\n3\n3\n6\n")]);
    // 1500 bytes in a millisecond are 12 Mbit/s. The end, 6 ms, is the beginning of the next round.
    let (idle, busy) =
        (|at, ms| (at, None, None, Some(ms)), |at, rate| (at, Some(rate), None, None));
    let expected = [busy(0, 12_000), busy(1, 12_000), idle(2, 1), busy(3, 24_000), idle(4, 2)];
    assert_eq!(changes(&found), expected);
    let every = found.changes().iter().map(|change| change.every);
    assert!(every.into_iter().all(|every| every == Some(Span::from_millis(6))));
}

#[test]
fn delays_are_one_for_each_ten_milliseconds() {
    let files = [("down", "21\n21\n35\n")];
    let found = changes(&timeline("{ delays = \"down\", loop = true }", &files));
    assert_eq!(found, [(0, None, Some(21), None), (20, None, Some(35), None)]);
}

#[test]
fn deliveries_and_delays_go_together() {
    let files = [("rate", "1\n2\n"), ("delay", "40\n")];
    let trace = "{ deliveries = \"rate\", delays = \"delay\", loop = true }";
    let found = timeline(trace, &files);
    assert!(found.changes().iter().any(|change| change.delay.is_some()));
    assert!(found.changes().iter().any(|change| change.rate.is_some()));
}

#[test]
fn the_explanation_has_the_ends_of_a_trace() {
    let rows = "t_s,rate_mbps,delay_ms\n0,2,20\n0.5,0,30\n1.5,4.5,10\n";
    let loaded = load("\"a.csv\"", &[("a.csv", rows)]).unwrap();
    let message = explain(&loaded.scenario, &loaded.written).to_string();
    // 2 Mbit/s for 0.5 s of 2.5 s, and 4.5 Mbit/s for 1 s.
    let expected = "3 changes in 2.5s, rate 2Mbit/s to 4.5Mbit/s (mean 2.2Mbit/s), delay 10ms to 30ms \
                    (mean 20ms), outages of 1s";
    assert!(
        message.split_whitespace().collect::<Vec<_>>().join(" ").contains(expected),
        "{message}"
    );
}

/// The scenario of `load` with other keys in the place of `rate` and `delay`.
fn with_keys(keys: &str, trace: &str, rows: &str) -> Result<Loaded, Errors> {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a.csv"), rows).unwrap();
    let text = format!(
        "duration = \"2s\"\n[[link]]\nbetween = [\"a\", \"b\"]\n{keys}\ntrace = {trace}\n[[flow]]\n\
         from = \"a\"\nto = \"b\"\ncontroller = \"reno\"\ntraffic = {{ bulk = \"unlimited\" }}\n"
    );
    Loaded::parse(&text, folder.path().join("traced.toml"), &[])
}

const RATES: &str = "t_s,rate_mbps\n0,2\n0.5,0\n1.5,4.5\n";
const DELAYS: &str = "t_s,delay_ms\n0,10\n1,30\n";

#[test]
fn a_trace_with_rates_or_delays_needs_no_other_and_gives_the_mean() {
    let rate = |loaded: &Loaded| loaded.scenario.links[0].forward.rate.bits_per_second();
    let delay = |loaded: &Loaded| loaded.scenario.links[0].forward.delay;
    let loaded = with_keys("delay = \"5ms\"", "\"a.csv\"", RATES).unwrap();
    // 2 Mbit/s for 0.5 s of 2.5 s, and 4.5 Mbit/s for 1 s.
    assert_eq!((rate(&loaded), delay(&loaded)), (2_200_000, Span::from_millis(5)));
    let loaded = with_keys("rate = \"1Mbit/s\"", "\"a.csv\"", DELAYS).unwrap();
    assert_eq!((rate(&loaded), delay(&loaded)), (1_000_000, Span::from_millis(20)));
    let both = "t_s,rate_mbps,delay_ms\n0,2,10\n1,4,30\n";
    let loaded = with_keys("", "\"a.csv\"", both).unwrap();
    assert_eq!((rate(&loaded), delay(&loaded)), (3_000_000, Span::from_millis(20)));
}

/// The figures were those of a rate that the link never has.
#[test]
fn figures_are_of_the_mean_of_a_trace_and_say_so() {
    let explained = |keys, rows| {
        let loaded = with_keys(keys, "\"a.csv\"", rows).unwrap();
        let explanation = explain(&loaded.scenario, &loaded.written);
        let figures = explanation.flows[0].figures.clone();
        (figures, explanation.to_string())
    };
    let (figures, text) = explained("rate = \"80Mbit/s\"\ndelay = \"5ms\"", RATES);
    assert!((figures.bottleneck_bps - 2.2e6).abs() < 1.0, "{}", figures.bottleneck_bps);
    assert!((figures.bdp_bytes / (2.2e6 / 8.0 * figures.base_rtt_ms / 1e3) - 1.0).abs() < 1e-9);
    assert!(text.contains("2.2Mbit/s of IP packets (mean of the trace)"), "{text}");
    assert!(!text.contains("80Mbit/s") && !text.contains("propagation (mean"), "{text}");
    let (figures, text) = explained("rate = \"80Mbit/s\"\ndelay = \"5ms\"", DELAYS);
    assert!((figures.propagation_rtt_ms - 40.0).abs() < 1e-9);
    assert!(text.contains("40ms propagation (mean of the trace)"), "{text}");
    assert!(!text.contains("IP packets (mean"), "{text}");
}

#[test]
fn a_rate_and_a_delay_that_no_trace_has_are_required() {
    for (keys, rows, path) in [
        ("delay = \"5ms\"", DELAYS, "link[0].rate"),
        ("rate = \"5Mbit/s\"", RATES, "link[0].delay"),
        ("delay = \"5ms\"", "t_s,loss_percent\n0,1\n1,2\n", "link[0].rate"),
    ] {
        let Err(errors) = with_keys(keys, "\"a.csv\"", rows) else { panic!("{keys} {rows}") };
        assert_eq!(errors.0[0].path, path, "{errors}");
    }
    // A trace that cannot be read is one fault, and not two.
    let Err(errors) = with_keys("delay = \"5ms\"", "\"b.csv\"", RATES) else { panic!() };
    assert_eq!(errors.0.len(), 1, "{errors}");
}

#[test]
fn a_delay_that_only_rises_in_a_trace_does_not_fall_at_its_start() {
    let loaded = with_keys("rate = \"1Mbit/s\"", "\"a.csv\"", DELAYS).unwrap();
    assert!(!loaded.scenario.links[0].forward.delay_falls());
}

#[test]
fn what_is_wrong_with_a_trace_is_answered() {
    let long = "t_s,rate_mbps\n0,2\n2,1\n";
    let cases = [
        ("\"a.csv\"", "t_s,rate_mbps\n0,2\n0.5,1\n", "a trace that lasts for the `duration` of 2s"),
        (
            "{ file = \"a.csv\", outside = \"hold\", loop = true }",
            long,
            "\"refuse\" with loop = true",
        ),
        ("{ file = \"a.csv\", step = \"1s\" }", long, "no `step` without `delays`"),
        (
            "{ delays = \"a.csv\", loop = true, columns = { t_s = \"t\" } }",
            "1\n",
            "no `columns` without `file`",
        ),
        ("{ file = \"a.csv\", columns = { time = \"t\" } }", long, "t_s"),
        ("\"a.csv\"", "t_s,speed\n0,2\n2,1\n", "a column of `t_s`"),
        ("\"a.csv\"", "rate_mbps\n2\n1\n", "a column `t_s`"),
        ("\"a.csv\"", "t_s\n0\n2\n", "a column with a rate, a delay, a loss or outages"),
        ("\"a.csv\"", "t_s,outage\n0,0\n2,0.5\n", "an outage, 0 or 1"),
        ("\"a.csv\"", "t_s,outage\n0,0\n2,2\n", "an outage, 0 or 1"),
        ("\"a.csv\"", "t_s,loss_ratio\n0,0.1\n2,1.5\n", "a loss from 0 to 1"),
        ("\"a.csv\"", "t_s,loss_percent\n0,0.1\n2,150\n", "a loss from 0 to 100"),
        (
            "\"a.csv\"",
            "t_s,loss_percent,loss_ratio\n0,1,1\n2,1,1\n",
            "one column each for time, rate, delay, loss and outage",
        ),
        (
            "{ file = \"a.csv\", phase = \"random\" }",
            "t_s,rate_mbps\n0,2\n1,1\n",
            "\"fixed\" for a trace that is as long as the `duration`",
        ),
        ("{ file = \"a.csv\", phase = \"late\" }", long, "\"fixed\" or \"random\""),
        ("\"a.csv\"", "t_s,delay_ms\n0,2\n2,fast\n", "a delay from 0 to"),
        ("\"a.csv\"", "t_s,delay_ms\n1,2\n2,3\n", "a first row at 0s"),
        ("\"a.csv\"", "t_s,delay_ms\n0,2\n0,3\n", "a time after"),
        ("\"a.csv\"", "t_s,delay_ms\n0,2\n1\n", "2 columns, as in the header"),
        ("\"b.csv\"", long, "no such file"),
        ("{ loop = true }", long, "`file`, `deliveries`, `delays` or `orbit`"),
        ("{ delays = \"a.csv\", orbit = \"a.csv\" }", "1\n", "no `orbit` with `delays`"),
        ("{ file = \"a.csv\", orbit = \"a.csv\" }", long, "no other file with `file`"),
        ("{ orbit = \"a.csv\" }", long, "valid TOML"),
        ("{ file = \"a.csv\", delays = \"a.csv\" }", long, "no other file with `file`"),
        ("{ deliveries = \"a.csv\", loop = true }", long, "times in whole milliseconds"),
        ("{ deliveries = \"a.csv\", loop = true }", "5\n4\n", "a time of at least 5 ms"),
        ("{ delays = \"a.csv\", loop = true }", "", "at least 1 rows"),
        ("{ delays = \"a.csv\", loop = true }", "2000000\n", "delays in milliseconds"),
    ];
    for (trace, text, expected) in cases {
        let Err(errors) = load(trace, &[("a.csv", text)]) else { panic!("{trace} {text:?}") };
        let message = errors.to_string();
        assert!(message.contains(expected), "{trace} {text:?}: {message}");
        assert!(errors.0[0].path.starts_with("link[0].forward.trace"), "{message}");
    }
}

/// A geostationary satellite over a place on the equator: 35,786 km up, and a little more down.
const ORBIT: &str = "geostationary = [10]\nminimum_elevation_deg = 10\nfrom = \"below\"\n\
    to = \"Nairobi\"\nepoch = 2026-11-27T12:00:00Z\nstep = \"500ms\"\n\
    place = [{ name = \"below\", latitude_deg = 0, longitude_deg = 10 }]\n";

#[test]
fn an_orbit_gives_delays() {
    let orbit = format!("duration = \"3s\"\n{ORBIT}");
    let found = changes(&timeline("{ orbit = \"a.toml\" }", &[("a.toml", &orbit)]));
    let times: Vec<_> = found.iter().map(|(at, ..)| *at).collect();
    assert_eq!(times, [0, 500, 1000, 1500, 2000, 2500]);
    // 119.4 ms up, and at most 10 ms more on the way down.
    assert!(found.iter().all(|row| row.2.is_some_and(|delay| (238..250).contains(&delay))));
    assert!(found.iter().all(|row| (row.1, row.3) == (None, None)));
    // A rate from another program with the delay of the orbit.
    let both = "{ orbit = \"a.toml\", deliveries = \"d.txt\", loop = true }";
    let found = changes(&timeline(both, &[("a.toml", &orbit), ("d.txt", "1\n3\n")]));
    assert!(found.iter().any(|row| row.1.is_some()) && found.iter().any(|row| row.2.is_some()));
    // One that is too short, and one with an error, whose place is in the file of the orbit.
    let short = format!("duration = \"1s\"\n{ORBIT}");
    for (orbit, expected) in [
        (short, "a trace that lasts for the `duration` of 2s"),
        (orbit.replace("Nairobi", "Nairoby"), "a.toml:5:6: link[0].forward.trace.orbit: expected"),
    ] {
        let errors = load("{ orbit = \"a.toml\" }", &[("a.toml", &orbit)]).unwrap_err();
        assert!(errors.to_string().contains(expected), "{errors}");
    }
}

#[test]
fn columns_that_describe_an_orbit_are_ignored() {
    let plain = "t_s,delay_ms,outage\n0,20,0\n1,30,1\n";
    let described = "t_s,delay_ms,outage,elevation_deg,satellite,to\n0,20,0,45.5,s/1.2,Paris\n\
        1,30,1,,,\n";
    let read = |rows| changes(&timeline("{ file = \"a.csv\" }", &[("a.csv", rows)]));
    assert_eq!(read(plain), read(described));
}

#[test]
fn a_loss_is_a_proportion_or_in_percent() {
    for rows in ["t_s,loss_ratio\n0,0.01\n1,0\n", "t_s,loss_percent\n0,1\n1,0\n"] {
        let found = timeline("\"a.csv\"", &[("a.csv", rows)]);
        let losses: Vec<_> = found.changes().iter().map(|change| change.loss).collect();
        assert_eq!(losses, [Some(0.01), Some(0.0)]);
    }
}

#[test]
fn losses_of_a_trace_are_in_the_packet_error_rate_of_the_explanation() {
    let rows = "t_s,loss_percent\n0,2\n1,0\n";
    let loaded = load("\"a.csv\"", &[("a.csv", rows)]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    assert!((explanation.flows[0].figures.per - 0.01).abs() < 1e-12);
    let shown = explanation.to_string();
    assert!(shown.contains("loss 0 % to 2 % (mean 1 %)"), "{shown}");
}

#[test]
fn a_random_phase_is_within_a_round_or_before_the_last_part_that_fills_a_run() {
    let rows = "t_s,rate_mbps\n0,2\n4,1\n8,3\n";
    let phase = |trace| {
        let loaded = load(trace, &[("a.csv", rows)]).unwrap_or_else(|errors| panic!("{errors}"));
        let trace = loaded.scenario.links[0].forward.trace.clone();
        assert_eq!(trace.lasts, Span::from_secs(12));
        let shown = explain(&loaded.scenario, &loaded.written).to_string();
        assert_eq!(shown.contains("on with seed 1"), trace.phase > Span::ZERO, "{shown}");
        trace.phase
    };
    assert_eq!(phase("\"a.csv\""), Span::ZERO);
    assert_eq!(phase("{ file = \"a.csv\", loop = true }"), Span::ZERO);
    assert_eq!(phase("{ file = \"a.csv\", loop = true, phase = \"random\" }"), Span::from_secs(12));
    // A run lasts for 2 s.
    assert_eq!(phase("{ file = \"a.csv\", phase = \"random\" }"), Span::from_secs(10));
}

#[test]
fn packets_overtake_only_where_a_delay_falls_and_nothing_relies_on_their_order() {
    let falls = "t_s,delay_ms\n0,50\n1,10\n";
    let rises = "t_s,delay_ms\n0,5\n1,50\n";
    let with = |rows, more: &str| {
        load(&format!("\"a.csv\"\nforward.reorder = true\n{more}"), &[("a.csv", rows)])
    };
    let loaded = with(falls, "").unwrap_or_else(|errors| panic!("{errors}"));
    assert!(loaded.scenario.links[0].forward.reorder && !loaded.scenario.links[0].backward.reorder);
    for (rows, more, expected) in [
        (rises, "", "where the delay never falls"),
        (falls, "backward.arq = \"go-back-n\"", "`arq` on the link"),
        (falls, "forward.fec = \"reed-solomon\"", "`fec`"),
        (falls, "header_compression = \"rohc\"", "`header_compression`"),
    ] {
        let Err(errors) = with(rows, more) else { panic!("{more}") };
        assert_eq!(errors.0[0].path, "link[0].forward.reorder", "{errors}");
        assert!(errors.to_string().contains(expected), "{errors}");
    }
    // A trace that repeats falls from its end to its beginning.
    let trace = "{ file = \"a.csv\", loop = true }\nreorder = true";
    let both = load(trace, &[("a.csv", rises)]).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(both.scenario.links[0].backward.reorder);
}

/// A log of a dish: a comment, semicolons, decimal commas, times with a date, a column that is no
/// part of a trace, a missing value, and a row without a time.
const LOG: &str = "# dish 7, firmware 2026.11\n\
    Timestamp;RTT [ms];Down Mbit/s;Loss %;Satellite\n\
    2026-11-01T12:00:00Z;40,5;100;0;A\n\
    2026-11-01T12:00:01.500Z;;80;1,5;A\n\
    ;50;70;0;A\n\
    2026-11-01T12:00:03Z;60;0;0;B\n";
const COLUMNS: &str = "columns = { t_s = \"Timestamp\", rtt_ms = \"RTT [ms]\", rate_mbps = \"Down Mbit/s\", \
    loss_percent = \"Loss %\" }";

#[test]
fn a_log_is_read_with_a_table_of_its_columns() {
    let trace = format!("{{ file = \"dish.csv\", {COLUMNS} }}");
    let loaded = load(&trace, &[("dish.csv", LOG)]).unwrap_or_else(|errors| panic!("{errors}"));
    let trace = &loaded.scenario.links[0].forward.trace;
    let found: Vec<_> = trace
        .timeline
        .changes()
        .iter()
        .map(|change| {
            let rate = change.rate.map(|rate| rate.bits_per_second() / 1_000_000);
            (change.at.as_millis_f64(), rate, change.delay.unwrap().as_millis_f64(), change.loss)
        })
        .collect();
    let expected = [
        (0.0, Some(100), 20.25, Some(0.0)),
        (1500.0, Some(80), 20.25, Some(0.015)),
        (3000.0, None, 30.0, Some(0.0)),
    ];
    assert_eq!(found, expected);
    assert_eq!(trace.lasts, Span::from_millis(4500));
    let shown = explain(&loaded.scenario, &loaded.written);
    let notes: Vec<_> =
        shown.links[0].effects_of("trace").iter().map(|one| one.text.clone()).collect();
    let expected = [
        "a comma is the decimal point: 1,234 is 1.234",
        "ignores \"Satellite\"",
        "the delay of each direction is half of the RTT",
        "leaves out 1 row without a time",
        "1 missing value: that of the row before",
        "times count from 2026-11-01T12:00:00Z",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn gaps_of_a_log_are_named() {
    let notes = |rows: &str| {
        let trace = "{ file = \"a.csv\", columns = { t_s = \"t\", rtt_ms = \"rtt\" } }";
        let loaded = load(trace, &[("a.csv", rows)]).unwrap();
        loaded.scenario.links[0].forward.trace.notes.clone()
    };
    let found = notes("t,rtt\n0,40\n15,41\n30,42\n90,43\n105,40\n150.5,42\n165,40\n180,41\n");
    let expected =
        "2 gaps (the longest 60s after line 4, usually 15s between rows): the row before holds";
    assert!(found.iter().any(|note| note == expected), "{found:?}");
    let found = notes("t,rtt\n0,40\n15,41\n30,42\n75,43\n90,40\n");
    assert!(!found.iter().any(|note| note.contains("gap")), "{found:?}");
}

#[test]
fn a_gap_in_which_rows_are_likely_to_be_missing_is_a_warning() {
    let warned = |trace: &str, rows: &str| {
        let loaded = load(trace, &[("a.csv", rows)]).unwrap();
        let warnings = explain(&loaded.scenario, &loaded.written).warnings;
        let found = warnings.into_iter().find(|one| one.kind == WarningKind::TraceGap);
        found.map(|one| one.message)
    };
    let hour = "t_s,delay_ms\n0,20\n1,21\n2,21\n3602,22\n3603,20\n";
    let expected = "a.csv has no row for 3600s after line 4, with 1s between most rows: the row before holds. \
                    Rows with an outage, or with values, would say what happened";
    assert_eq!(warned("\"a.csv\"", hour).as_deref(), Some(expected));
    let log = "{ file = \"a.csv\", columns = { t_s = \"t_s\", delay_ms = \"delay_ms\" } }";
    assert_eq!(warned(log, hour).as_deref(), Some(expected));
    // Changes that seldom happen have no usual step, and a minute is no long time.
    let changes = "t_s,delay_ms\n0,20\n900,21\n7200,21\n9000,22\n";
    assert_eq!(warned("\"a.csv\"", changes), None);
    let short = "t_s,delay_ms\n0,20\n0.1,21\n0.2,21\n50,22\n50.1,22\n100,20\n";
    assert_eq!(warned("\"a.csv\"", short), None);
}

#[test]
fn times_of_a_log_may_be_of_a_clock_and_in_milliseconds() {
    let rows = "ms,rtt\n1793534400000,40\n1793534401000,60\n1793534402000,50\n";
    let trace = "{ file = \"a.csv\", columns = { t_ms = \"ms\", rtt_ms = \"rtt\" } }";
    let read = timeline(trace, &[("a.csv", rows)]);
    let expected =
        [(0, None, Some(20), None), (1000, None, Some(30), None), (2000, None, Some(25), None)];
    assert_eq!(changes(&read), expected);
    let loaded = load(trace, &[("a.csv", rows)]).unwrap();
    let notes = &loaded.scenario.links[0].forward.trace.notes;
    assert_eq!(notes.last().unwrap(), "times count from 1793534400000");
    let local = "when,rtt\n2026-11-01 12:00:00,40\n2026-11-01 12:00:02.25,60\n";
    let trace = "{ file = \"a.csv\", columns = { t_s = \"when\", rtt_ms = \"rtt\" } }";
    let found = changes(&timeline(trace, &[("a.csv", local)]));
    assert_eq!(found, [(0, None, Some(20), None), (2250, None, Some(30), None)]);
}

#[test]
fn what_is_wrong_with_a_log_is_answered_with_its_line() {
    let cases = [
        ("# one\n# two\nwhen;rtt\n0;40\n1;fast\n", "dish.csv:5"),
        (
            "when;rtt\n2026-11-01T12:00:00Z;40\n2026-11-01T12:00:01;40\n",
            "a time with a zone, as in line 2",
        ),
        ("when;rtt\n2026-11-01T12:00:00Z;40\n5;40\n", "a time with a zone, as in line 2"),
        ("when;rtt\nyesterday;40\n5;40\n", "ISO 8601"),
        ("when;rtt\n5;40\n4;40\n", "a time after that of line 2"),
        ("when;rtt\n5;40\n5;40\n", "a time after 0s"),
        ("when;RTT\n5;40\n6;40\n", "a column \"rtt\" for `rtt_ms`"),
        ("when;RTT\n5;40\n6;40\n", "did you mean \"RTT\"?"),
        ("when;rtt\n5;\n6;NaN\n", "a delay in the column \"rtt\""),
        ("when;rtt\n0;40\n# a comment\n1;slow\n", "dish.csv:4"),
    ];
    let trace = "{ file = \"dish.csv\", columns = { t_s = \"when\", rtt_ms = \"rtt\" } }";
    for (text, expected) in cases {
        let Err(errors) = load(trace, &[("dish.csv", text)]) else { panic!("{text:?}") };
        let message = errors.to_string();
        assert!(message.contains(expected), "{text:?}: {message}");
    }
}

#[test]
fn a_trace_that_is_too_short_names_its_last_line_and_can_be_held() {
    let rows = "# a comment\nt_s,rate_mbps\n0,2\n0.5,1\n";
    let Err(errors) = load("\"a.csv\"", &[("a.csv", rows)]) else { panic!("too short") };
    let message = errors.to_string();
    assert!(message.contains("a.csv:4") && message.contains("outside = \"hold\""), "{message}");
    let trace = "{ file = \"a.csv\", outside = \"hold\" }";
    let loaded = load(trace, &[("a.csv", rows)]).unwrap_or_else(|errors| panic!("{errors}"));
    let shown = explain(&loaded.scenario, &loaded.written).to_string();
    assert!(shown.contains("holds its last values from 1s on"), "{shown}");
    // 2 Mbit/s for 0.5 s of 2 s, and 1 Mbit/s for the rest; an outage of the last row goes on.
    assert!(shown.contains("(mean 1.25Mbit/s)"), "{shown}");
    let silent = "t_s,rate_mbps\n0,2\n0.5,0\n";
    let found = changes(&timeline(trace, &[("a.csv", silent)]));
    assert_eq!(found, [(0, Some(2000), None, None), (500, None, None, Some(1500))]);
    let deliveries = "{ deliveries = \"up\", outside = \"hold\" }";
    let Err(errors) = load(deliveries, &[("up", "1\n2\n")]) else { panic!("deliveries") };
    assert!(errors.to_string().contains("with `deliveries`"), "{errors}");
}

#[test]
fn delays_have_decimals_and_a_step_of_their_own() {
    let files = [("down", "# LeoReplayer, finer\n21.5\n\n35\n")];
    let trace = "{ delays = \"down\", step = \"1s\", loop = true }";
    let found = timeline(trace, &files);
    let delays: Vec<_> =
        found.changes().iter().map(|change| change.delay.unwrap().as_millis_f64()).collect();
    assert_eq!(delays, [21.5, 35.0]);
    assert_eq!(changes(&found)[1].0, 1000);
}
