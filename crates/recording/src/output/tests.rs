use super::*;
use crate::load;
use crate::tables::tests::sample;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Names of the files, in order.
fn files(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_recording_is_kept_with_its_scenario_and_a_file_for_each_table() {
    let parent = folder();
    let path = parent.path().join("deep/out");
    OutputFolder::create(&path, false).unwrap().save(&sample(), "name = \"geo\"\n", &[]).unwrap();
    let expected = [
        "SHA256SUMS",
        "flow_series.parquet",
        "flows.parquet",
        "handovers.parquet",
        "link_series.parquet",
        "links.parquet",
        "objects.parquet",
        "pages.parquet",
        "recording.json",
        "scenario.toml",
    ];
    assert_eq!(files(&path), expected);
    assert_eq!(fs::read_to_string(path.join("scenario.toml")).unwrap(), "name = \"geo\"\n");
    assert_eq!(fs::read_to_string(path.join("recording.json")).unwrap(), sample().to_json_pretty());
}

#[test]
fn an_earlier_recording_is_replaced_and_none_of_its_files_stays_behind() {
    let path = folder();
    let mut first = OutputFolder::create(path.path(), false).unwrap();
    first.capture().unwrap().write_all(b"packets").unwrap();
    first.key_log().unwrap().write_all(b"secrets").unwrap();
    let mut trace = first.traces().begin("qlog-0-3-client.sqlog").unwrap();
    for piece in [[b'a'; 10_000], [b'b'; 10_000]] {
        trace.write_all(&piece).unwrap();
    }
    trace.write_all(b"c").unwrap();
    trace.flush().unwrap();
    first.save(&sample(), "", &[]).unwrap();
    let trace = fs::read(path.path().join("qlog-0-3-client.sqlog")).unwrap();
    assert_eq!(
        (trace.len(), trace[9_999], trace[10_000], trace[20_000]),
        (20_001, b'a', b'b', b'c')
    );
    assert_eq!(fs::read(path.path().join("tls-keys.log")).unwrap(), b"secrets");
    fs::write(path.path().join("notes.txt"), "mine").unwrap();

    let second = Recording { scenario: "second".into(), ..Recording::default() };
    OutputFolder::create(path.path(), false).unwrap().save(&second, "", &[]).unwrap();
    let expected = ["SHA256SUMS", "notes.txt", "recording.json", "scenario.toml"];
    assert_eq!(files(path.path()), expected);
}

#[test]
fn files_of_the_scenario_are_copied_and_replaced_with_it() {
    let path = folder();
    let rain = path.path().join("rain.csv");
    fs::write(&rain, "0,1").unwrap();
    let path = path.path().join("out");
    let copies = [("attenuation-0.csv".to_owned(), rain.clone())];
    OutputFolder::create(&path, false).unwrap().save(&sample(), "", &copies).unwrap();
    assert_eq!(fs::read_to_string(path.join("attenuation-0.csv")).unwrap(), "0,1");

    OutputFolder::create(&path, false).unwrap().save(&sample(), "", &[]).unwrap();
    assert!(!path.join("attenuation-0.csv").exists());

    fs::remove_file(&rain).unwrap();
    let error = OutputFolder::create(&path, false).unwrap().save(&sample(), "", &copies);
    assert!(error.unwrap_err().to_string().contains("rain.csv"));
}

#[test]
fn a_capture_appears_only_when_the_recording_is_saved() {
    let path = folder();
    let mut output = OutputFolder::create(path.path(), false).unwrap();
    let mut capture = output.capture().unwrap();
    capture.write_all(b"packets").unwrap();
    capture.flush().unwrap();
    let unfinished = files(path.path());
    assert!(matches!(&unfinished[..], [one] if one.starts_with(UNFINISHED)), "{unfinished:?}");
    output.save(&Recording::default(), "", &[]).unwrap();
    assert_eq!(fs::read(path.path().join("capture.pcapng")).unwrap(), b"packets");
}

#[test]
fn a_folder_with_other_files_is_refused_and_left_as_it_is() {
    let path = folder();
    fs::write(path.path().join("thesis.tex"), "years of work").unwrap();
    fs::write(path.path().join("recording.json"), r#"{"tape": 7}"#).unwrap();
    let error = OutputFolder::create(path.path(), false).unwrap_err();
    assert!(matches!(&error, OutputError::Foreign { found, .. } if found == "recording.json"));
    assert!(error.to_string().contains(&path.path().display().to_string()), "{error}");
    assert_eq!(files(path.path()), ["recording.json", "thesis.tex"]);
    assert_eq!(fs::read_to_string(path.path().join("recording.json")).unwrap(), r#"{"tape": 7}"#);
}

#[test]
fn force_takes_a_folder_with_other_files_and_keeps_them() {
    let path = folder();
    fs::write(path.path().join("thesis.tex"), "years of work").unwrap();
    OutputFolder::create(path.path(), true).unwrap().save(&Recording::default(), "", &[]).unwrap();
    let expected = ["SHA256SUMS", "recording.json", "scenario.toml", "thesis.tex"];
    assert_eq!(files(path.path()), expected);
}

#[test]
fn the_remains_of_a_killed_run_do_not_make_a_folder_foreign_and_are_removed() {
    let path = folder();
    fs::create_dir(path.path().join(".bentpipe-run-7-0")).unwrap();
    fs::write(path.path().join(".bentpipe-run-7-0/capture.pcapng"), "half").unwrap();
    OutputFolder::create(path.path(), false).unwrap();
    assert!(files(path.path()).is_empty());
}

#[test]
fn a_folder_takes_one_run_at_a_time() {
    let parent = folder();
    let path = parent.path().join("out");
    let mut first = OutputFolder::create(&path, false).unwrap();
    first.capture().unwrap().write_all(b"packets").unwrap();
    for force in [false, true] {
        let error = OutputFolder::create(&path, force).unwrap_err();
        assert!(matches!(error, OutputError::Busy { .. }), "{error}");
    }
    first.save(&sample(), "", &[]).unwrap();
    assert_eq!(fs::read(path.join("capture.pcapng")).unwrap(), b"packets");
    OutputFolder::create(&path, false).unwrap().save(&Recording::default(), "", &[]).unwrap();
    assert_eq!(load(&path).unwrap().digest(), Recording::default().digest());
}

#[cfg(unix)]
#[test]
fn a_folder_that_another_run_has_removed_since_it_was_opened_is_not_locked() {
    let parent = folder();
    let path = parent.path().join("out");
    fs::create_dir(&path).unwrap();
    let opened = File::open(&path).unwrap();
    fs::remove_dir(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let refused = Lock::of(opened, &path).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::NotFound);
    assert!(Lock::make(&path).unwrap().is_some());
}

/// A run that waits for a folder whose run saves nothing does not get the one that is removed.
#[test]
fn folders_that_come_and_go_are_never_lost() {
    let parent = folder();
    let path = parent.path().join("out");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    match OutputFolder::create(&path, false) {
                        Err(OutputError::Busy { .. }) => {}
                        output => drop(output.unwrap()),
                    }
                }
            });
        }
    });
}

/// The steps of `publish::settle`, each as it leaves the folder if the process is killed after it.
#[test]
fn a_run_that_is_killed_while_it_publishes_leaves_one_whole_recording() {
    let (complete, placing) = (".bentpipe-complete", ".bentpipe-placing");
    let new =
        Recording { scenario: "second".into(), links: sample().links, ..Recording::default() };
    type Step = fn(&Path);
    let steps: [Step; 7] = [
        |_| {},
        |out| {
            let earlier = out.join(".bentpipe-complete/.earlier.json");
            fs::rename(out.join("recording.json"), earlier).unwrap();
        },
        |out| fs::remove_file(out.join("handovers.parquet")).unwrap(),
        |out| {
            for name in ["flows", "pages", "objects", "flow_series", "link_series"] {
                fs::remove_file(out.join(file_name(name))).unwrap();
            }
            fs::remove_file(out.join(CAPTURE)).unwrap();
            fs::rename(out.join(".bentpipe-complete"), out.join(".bentpipe-placing")).unwrap();
        },
        |out| fs::remove_file(out.join(".bentpipe-placing/.earlier.json")).unwrap(),
        |out| {
            let links = file_name("links");
            fs::rename(out.join(".bentpipe-placing").join(&links), out.join(links)).unwrap();
        },
        |out| {
            for name in [SUMS, SCENARIO, RECORDING] {
                fs::rename(out.join(".bentpipe-placing").join(name), out.join(name)).unwrap();
            }
        },
    ];
    for last in 0..steps.len() {
        let path = folder();
        let out = path.path().join("out");
        let mut first = OutputFolder::create(&out, false).unwrap();
        first.capture().unwrap().write_all(b"packets").unwrap();
        first.save(&sample(), "first", &[]).unwrap();
        let elsewhere = path.path().join("elsewhere");
        OutputFolder::create(&elsewhere, false).unwrap().save(&new, "second", &[]).unwrap();
        fs::rename(elsewhere, out.join(complete)).unwrap();
        steps[..=last].iter().for_each(|step| step(&out));
        if out.join(RECORDING).exists() {
            let text = fs::read_to_string(out.join(SCENARIO)).unwrap();
            assert_eq!(text, if last == 0 { "first" } else { "second" });
        }
        match last % 2 {
            0 => assert_eq!(load(&out).unwrap().digest(), new.digest(), "step {last}"),
            _ => drop(OutputFolder::create(&out, false).unwrap()),
        }
        let whole = ["SHA256SUMS", "links.parquet", "recording.json", "scenario.toml"];
        assert_eq!(files(&out), whole, "step {last}");
        assert_eq!(load(&out).unwrap().digest(), new.digest(), "step {last}");
        assert!(!out.join(placing).exists());
    }
}

#[test]
fn a_file_in_the_place_of_the_folder_is_found_before_the_run() {
    let parent = folder();
    let path = parent.path().join("file");
    fs::write(&path, "").unwrap();
    let error = OutputFolder::create(&path, false).unwrap_err();
    assert!(matches!(error, OutputError::NotAFolder { .. }), "{error}");
    let error = OutputFolder::create(path.join("below"), false).unwrap_err();
    assert!(matches!(error, OutputError::Unwritable { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_found_before_the_run() {
    let parent = folder();
    let path = parent.path().join("link");
    std::os::unix::fs::symlink(parent.path().join("nowhere"), &path).unwrap();
    let error = OutputFolder::create(&path, false).unwrap_err();
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}

/// `/proc` takes no files, not even from the superuser as which the tests may run.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files_is_found_before_the_run() {
    let error = OutputFolder::create("/proc/self", true).unwrap_err();
    assert!(matches!(error, OutputError::Unwritable { .. }), "{error}");
    assert!(error.to_string().starts_with("cannot write to the folder /proc/self: "), "{error}");
}

#[test]
fn a_run_that_saves_nothing_leaves_nothing() {
    let parent = folder();
    let path = parent.path().join("out");
    let mut output = OutputFolder::create(&path, false).unwrap();
    drop(output.capture().unwrap());
    drop(output);
    assert!(files(parent.path()).is_empty());
}

#[test]
fn when_saving_fails_the_earlier_recording_is_still_whole() {
    let path = folder();
    OutputFolder::create(path.path(), false).unwrap().save(&sample(), "first", &[]).unwrap();
    let before = files(path.path());
    // A folder stands where the last file is to be prepared.
    let output = OutputFolder::create(path.path(), false).unwrap();
    let unfinished = files(path.path()).into_iter().find(|name| name.starts_with(UNFINISHED));
    fs::create_dir(path.path().join(unfinished.unwrap()).join("recording.json")).unwrap();
    let error = output.save(&Recording::default(), "second", &[]).unwrap_err();
    assert!(matches!(&error, OutputError::Write { path, .. } if path.ends_with("recording.json")));
    assert_eq!(files(path.path()), before);
    assert_eq!(fs::read_to_string(path.path().join("scenario.toml")).unwrap(), "first");
}

#[test]
fn a_partial_recording_says_so() {
    let path = folder();
    let recording = Recording { partial: true, ..sample() };
    OutputFolder::create(path.path(), false).unwrap().save(&recording, "", &[]).unwrap();
    let text = fs::read_to_string(path.path().join("recording.json")).unwrap();
    assert!(text.contains("\"partial\": true"));
}
