//! Channels with attenuation series: which files are read, which are refused, and in which words.

use std::fmt::Write;
use std::path::Path as FilePath;
use std::sync::Arc;

use language::Errors;
use link::{Awgn, Code};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;
use units::{Span, Time};

use explain::explain;
use scenario::model::Channel;
use scenario::{Loaded, Override, Scenario};

/// A scenario in a directory of its own, with `channel` forward and these files in it.
struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.directory.path().join(name), content).unwrap();
        self
    }

    fn load(&self, channel: &str, sets: &[&str]) -> Result<Loaded, Errors> {
        let text = format!(
            "duration = \"100s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\n\
             delay = \"250ms\"\nforward.channel = {channel}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n\
             controller = \"reno\"\ntraffic = {{ bulk = \"unlimited\" }}\n"
        );
        let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
        Loaded::parse(&text, self.directory.path().join("rain.toml"), &sets)
    }

    fn awgn(&self, channel: &str) -> Arc<Awgn> {
        let loaded = self.load(channel, &[]).unwrap_or_else(|errors| panic!("{errors}"));
        awgn(&loaded.scenario)
    }

    /// The message, with the directory left out.
    fn refused(&self, channel: &str) -> String {
        let Err(errors) = self.load(channel, &[]) else { panic!("{channel} was accepted") };
        assert_eq!(errors.0.len(), 1, "{errors}");
        assert!(errors.0[0].path.starts_with("link[0].forward.channel"), "{errors}");
        errors.to_string().replace(self.directory.path().to_str().unwrap(), "…")
    }
}

fn awgn(scenario: &Scenario) -> Arc<Awgn> {
    match &scenario.links[0].forward.channel {
        Channel::Awgn { awgn, .. } => awgn.clone(),
        other => panic!("{other:?}"),
    }
}

fn seconds(samples: &[(f64, f64)]) -> Vec<(Time, f64)> {
    let at =
        |(time, attenuation): &(f64, f64)| (Time::ZERO + Span::from_secs_f64(*time), *attenuation);
    samples.iter().map(at).collect()
}

const FILE: &str = r#"{ eb_n0 = 10, code = "uncoded", attenuation = "fade.csv" }"#;
const LOOSE: &str =
    r#"{ eb_n0 = 10, code = "uncoded", attenuation = { file = "fade.csv", outside = "hold" } }"#;

#[test]
fn a_series_is_read_however_it_is_written() {
    let expected = seconds(&[(0.0, 0.0), (0.5, 1.25), (50.0, 12.0), (100.0, -0.5)]);
    let texts = [
        "0,0\n0.5,1.25\n50,12\n100,-0.5\n",
        "time,attenuation\n0,0\n0.5,1.25\n50,12\n100,-0.5",
        "# measured in rain\r\ntime (s);A (dB)\r\n0;0\r\n0.5;1.25\r\n50;12\r\n100;-0.5\r\n\r\n",
        "\u{feff}0\t0\n 5e-1\t+1.25\n# a pause\n50\t12\n\"100\"\t\"-0.5\"\n",
    ];
    for text in texts {
        let awgn = Bench::new().with("fade.csv", text).awgn(FILE);
        assert_eq!(awgn.budget().fade.samples(), expected, "{text}");
    }
}

/// A Parquet file of two optional columns, `time` whole or not.
fn table(times: &[Option<f64>], whole: bool, attenuations: &[Option<f64>]) -> Vec<u8> {
    packed_table(times, whole, attenuations, Compression::UNCOMPRESSED)
}

fn packed_table(
    times: &[Option<f64>],
    whole: bool,
    attenuations: &[Option<f64>],
    compression: Compression,
) -> Vec<u8> {
    let kind = if whole { "INT64" } else { "DOUBLE" };
    let schema = format!("message fade {{ OPTIONAL {kind} time; OPTIONAL DOUBLE attenuation; }}");
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    for (column, whole) in [(times, whole), (attenuations, false)] {
        let levels: Vec<_> = column.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<_> = column.iter().flatten().copied().collect();
        let mut writer = group.next_column().unwrap().unwrap();
        if whole {
            let values: Vec<_> = values.iter().map(|value| *value as i64).collect();
            writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None).unwrap();
        } else {
            writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None).unwrap();
        }
        writer.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

#[test]
fn a_series_may_be_a_parquet_file() {
    let expected = seconds(&[(0.0, 0.5), (50.0, 12.0), (100.0, 3.0)]);
    for whole in [true, false] {
        let times = [0.0, 50.0, 100.0].map(Some);
        let file = table(&times, whole, &[0.5, 12.0, 3.0].map(Some));
        let awgn = Bench::new().with("fade.csv", file).awgn(FILE);
        assert_eq!(awgn.budget().fade.samples(), expected);
    }
}

#[test]
fn a_parquet_file_may_be_compressed_as_its_writer_likes() {
    let all = [
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    let times: Vec<_> = (0..=100).map(|second| Some(f64::from(second))).collect();
    for compression in all {
        let file = packed_table(&times, false, &vec![Some(3.0); 101], compression);
        let awgn = Bench::new().with("fade.csv", file).awgn(FILE);
        assert_eq!(awgn.budget().fade.samples().len(), 101, "{compression:?}");
    }
}

/// The reader of Parquet asserts some of the footer, and panics.
#[test]
fn a_damaged_parquet_file_is_an_error_with_its_name() {
    let times: Vec<_> = (0..=100).map(|second| Some(f64::from(second))).collect();
    let whole = table(&times, false, &vec![Some(3.0); 101]);
    let bench = Bench::new();
    let mut panics = 0;
    for at in whole.len() - 300..whole.len() {
        for value in [0xff, whole[at] ^ 0x10] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            std::fs::write(bench.directory.path().join("fade.csv"), damaged).unwrap();
            if let Err(errors) = bench.load(LOOSE, &[]) {
                let error = errors.to_string();
                assert!(error.contains("fade.csv"), "{error}");
                panics += usize::from(error.contains("damaged: "));
            }
        }
    }
    assert!(panics > 0, "the reader of Parquet no longer panics: `columnar` has nothing to do");
}

#[test]
fn long_cells_are_shortened() {
    let word = "rain".repeat(100_000);
    let number = "9".repeat(100_000);
    for text in [format!("0,0\n1,{word}\n"), format!("0,0\n{number},1\n"), word] {
        let found = Bench::new().with("fade.csv", text).refused(LOOSE);
        assert!(found.len() < 500, "{} bytes", found.len());
    }
}

/// Reading any of these would wait, or never end.
#[test]
fn only_regular_files_are_read() {
    for (path, found) in [("/dev/zero", "a device, a pipe or a socket"), ("/tmp", "a folder")] {
        let refused = Bench::new().refused(&LOOSE.replace("fade.csv", path));
        let told = format!("found {path:?}: {found}");
        assert!(refused.contains(&told), "{refused}");
    }
}

#[test]
fn files_that_are_no_series() {
    let mut regular: String = (0..40).map(|second| format!("{second},1\n")).collect();
    regular += "45,1\n46,1\n";
    let cases = [
        ("a value that is no number", "0,0\n1,0.5\n2,NaN\n100,0\n"),
        ("an infinite value", "0,0\n1,inf\n100,0\n"),
        ("a word", "time,dB\n0,0\n1,n/a\n100,0\n"),
        ("a missing attenuation", "0,0\n1,\n100,0\n"),
        ("a missing time", "0,0\n,0\n100,0\n"),
        ("a time that is no number", "0,0\nnan,0\n100,0\n"),
        ("time that runs back", "0,0\n2,0\n1,0\n100,0\n"),
        ("time that stands still", "0,0\n2,0\n2,1\n100,0\n"),
        ("time before the start", "-1,0\n100,0\n"),
        ("an attenuation that no rain has", "0,0\n100,1e6\n"),
        ("a gain", "0,0\n100,-30\n"),
        ("one line", "0,0\n"),
        ("a header and one line", "time,dB\n0,0\n"),
        ("a header alone", "time,dB\n"),
        ("nothing", ""),
        ("one column", "0\n1\n"),
        ("three columns", "0,0,0\n"),
        ("a row that is cut off", "0,0\n50\n100,0\n"),
        ("a gap between samples of one step", regular.as_str()),
    ];
    let mut all = String::new();
    for (what, text) in cases {
        let found = Bench::new().with("fade.csv", text).refused(LOOSE);
        writeln!(all, "# {what}\n{found}\n").unwrap();
    }
    let mut file = table(&[Some(0.0), Some(1.0)], false, &[Some(1.0), None]);
    let found = Bench::new().with("fade.csv", &file).refused(LOOSE);
    writeln!(all, "# a table with a null\n{found}\n").unwrap();
    let nan = table(&[Some(0.0), Some(1.0)], false, &[Some(1.0), Some(f64::NAN)]);
    let found = Bench::new().with("fade.csv", nan).refused(LOOSE);
    writeln!(all, "# a table with a NaN\n{found}\n").unwrap();
    file.truncate(file.len() - 20);
    let found = Bench::new().with("fade.csv", file).refused(LOOSE);
    let (head, _) = found.rsplit_once(": ").unwrap();
    writeln!(all, "# a table that is cut off\n{head}\n").unwrap();
    let found = Bench::new().with("fade.csv", b"0,0\n1,\xff\n").refused(LOOSE);
    writeln!(all, "# no text\n{found}\n").unwrap();
    let found = Bench::new().with("fades.csv", "0,0\n100,0\n").refused(FILE);
    writeln!(all, "# no file\n{found}\n").unwrap();
    let short = Bench::new().with("fade.csv", "0,0\n10,0\n50,0\n").refused(FILE);
    writeln!(all, "# a series shorter than the run\n{short}\n").unwrap();
    let late = Bench::new().with("fade.csv", "50,0\n60,0\n120,0\n").refused(FILE);
    writeln!(all, "# a series that begins late\n{late}").unwrap();
    insta::assert_snapshot!(all);
}

#[test]
fn channels_that_cannot_be() {
    let cases = [
        "{ mean_loss = 0.9, mean_burst = 5 }",
        "{ mean_loss = 0.3, mean_burst = 5, loss_in_burst = 0.25 }",
        "{ mean_loss = 0.1, mean_burst = 0.5 }",
        "{ mean_loss = -0.1, mean_burst = 2 }",
        "{ mean_loss = 1, mean_burst = 2 }",
        "{ mean_loss = 0.1, mean_burst = 2, loss_in_burst = 0 }",
        "{ mean_loss = 0.1, mean_burst = 2, loss_in_gap = 0.2 }",
        "{ mean_loss = 0.1, mean_burst = 2, loss_in_burst = 0.1, loss_in_gap = 0.1 }",
        "{ mean_loss = 0.1, mean_burst = nan }",
        "{ mean_loss = 0.5, mean_burst = \"5ms\", loss_in_burst = 0.5 }",
        "{ mean_loss = 0.1, mean_burst = \"5 parsecs\" }",
        "{ mean_loss = 0.1, mean_burst = \"0s\" }",
        "{ mean_loss = 0.9, mean_burst = \"1us\" }",
        "{ mean_loss = 0.1 }",
        "{ mean_burst = 3, per = 0.1 }",
        "{ eb_n0 = 9 }",
        "{ eb_n0 = nan, code = \"uncoded\" }",
        "{ eb_n0 = 9, code = \"vitebri-3/4\" }",
        "{ eb_n0 = 9, code = \"uncoded\", errors_per_event = 0.5 }",
        "{ eb_n0 = 9, code = \"uncoded\", attenuation = -3 }",
        "{ eb_n0 = 9, code = \"uncoded\", attenuation = { file = \"fade.csv\", outside = \"zero\" } }",
        "{ eb_n0 = 9, code = \"uncoded\", system_temperature = 0 }",
        "{ eb_n0 = 9, code = \"uncoded\", lock = { threshold = 8.5 } }",
        "{ eb_n0 = 9, code = \"uncoded\", lock = { hysteresis = 1 } }",
        "{ eb_n0 = 9, code = \"uncoded\", lock = { threshold = 4, reacquisition = 5 } }",
        "{ eb_n0 = 9, code = \"uncoded\", attenuation = \"\" }",
    ];
    let found: String = cases.map(|case| format!("{}\n\n", Bench::new().refused(case))).concat();
    insta::assert_snapshot!(found);
}

#[test]
fn a_series_may_be_held_where_it_has_no_samples() {
    let bench = Bench::new().with("fade.csv", "50,0\n60,2\n70,1\n");
    assert_eq!(bench.awgn(LOOSE).budget().fade.samples().len(), 3);
}

/// 100 samples of one second each are a series of 100 s, wherever in the second they stand.
#[test]
fn a_sample_stands_for_its_step() {
    for first in [0, 1] {
        let rows: String = (first..first + 100).map(|second| format!("{second},1\n")).collect();
        assert_eq!(
            Bench::new().with("fade.csv", rows).awgn(FILE).budget().fade.samples().len(),
            100
        );
    }
}

#[test]
fn a_gap_may_be_bridged() {
    let rows: String =
        (0..=100).filter(|second| second % 50 != 7).map(|second| format!("{second},1\n")).collect();
    let bench = Bench::new().with("fade.csv", rows);
    assert!(bench.refused(FILE).contains("a gap of 2s"));
    let bridged = FILE.replace("\"fade.csv\"", "{ file = \"fade.csv\", gaps = \"interpolate\" }");
    assert_eq!(bench.awgn(&bridged).budget().fade.samples().len(), 99);
}

#[test]
fn a_file_in_an_override_counts_from_the_current_directory() {
    let bench = Bench::new().with("fade.csv", "0,0\n100,0\n").with("other.csv", "0,0\n100,5\n");
    let set = "link.0.forward.channel.attenuation=other.csv";
    let errors = bench.load(FILE, &[set]).unwrap_err().to_string();
    assert!(errors.starts_with(&format!("--set {set}: ")), "{errors}");
    let other = bench.directory.path().join("other.csv");
    let set = format!("link.0.forward.channel.attenuation={}", other.display());
    let loaded = bench.load(FILE, &[&set]).unwrap();
    assert_eq!(awgn(&loaded.scenario).budget().fade.deepest().1, 5.0);
}

#[test]
fn what_a_link_budget_says_is_what_runs() {
    let awgn = Bench::new().awgn(
        "{ eb_n0 = 9.5, code = \"sequential-3/4\", attenuation = 2.5, system_temperature = 200, \
         lock = { threshold = 4, hysteresis = 1, reacquisition = \"7s\" } }",
    );
    let budget = awgn.budget();
    assert_eq!((budget.eb_n0, budget.code), (9.5, Code::Sequential));
    assert_eq!((budget.errors_per_event, budget.system_temperature), (7.0, Some(200.0)));
    assert_eq!(budget.fade.deepest(), (Time::ZERO, 2.5));
    assert_eq!(budget.lock.unwrap().reacquisition, Span::from_secs(7));
    let uncoded = Bench::new().awgn("{ eb_n0 = 9.5, code = \"uncoded\" }");
    assert_eq!(uncoded.budget().errors_per_event, 1.0);
}

#[test]
fn channels_are_explained_with_what_follows_from_them() {
    let bench = Bench::new().with("fade.csv", "0,0\n40,0\n50,9\n55,4\n60,9\n70,0\n100,0\n");
    let channels = [
        "{ mean_loss = 0.02, mean_burst = 4 }",
        "{ mean_loss = 0, mean_burst = 4, loss_in_burst = 0.5 }",
        "{ mean_loss = 0.02, mean_burst = \"5ms\" }",
        "{ eb_n0 = 10.53, code = \"uncoded\" }",
        "{ eb_n0 = 8, code = \"viterbi-3/4\", attenuation = 2, system_temperature = 100 }",
        "{ eb_n0 = 11, code = \"viterbi-3/4-modem\", attenuation = \"fade.csv\", \
         system_temperature = 100, lock = { threshold = 4 } }",
        "{ eb_n0 = 11, code = \"uncoded\", system_temperature = 100 }",
        "{ eb_n0 = 5, code = \"uncoded\", attenuation = 2, lock = { threshold = 4 } }",
    ];
    let mut all = String::new();
    for channel in channels {
        let loaded = bench.load(channel, &[]).unwrap_or_else(|errors| panic!("{errors}"));
        let explanation = explain(&loaded.scenario, &loaded.written);
        let text = explanation.to_string();
        let start = text.find("Channel a").unwrap();
        let end = text.find("\nFlow ").unwrap();
        writeln!(all, "# {channel}\n{}", &text[start..end]).unwrap();
        for warning in explanation.warnings {
            writeln!(all, "{}: {}\n", warning.subject, warning.message).unwrap();
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn the_example_has_the_outages_that_it_is_made_for() {
    let path = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fade.toml");
    let loaded = Loaded::load(path, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let Channel::Awgn { awgn, file } = &loaded.scenario.links[1].forward.channel else {
        panic!("no fade");
    };
    assert_eq!((awgn.outages().len(), file.as_deref()), (2, Some("fade.csv")));
    assert_eq!(loaded.scenario.links[1].backward.channel, Channel::Perfect);
}
