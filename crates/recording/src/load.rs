//! Loading of a saved recording. It is equal to the saved one, or refused: the sum of each file
//! must be that of `SHA256SUMS`. Without that file the digest in `recording.json` must be that of
//! what was read. The digest is not asked where the sums are there, because a version with more
//! columns has another digest of the same run; these columns are null. Totals, pages and objects
//! come from `recording.json`, which has all digits. Series come from Parquet files. Recordings of
//! versions that saved neither digest nor sums are taken as they are.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use thiserror::Error;

use crate::json::digest_in;
use crate::output::{RECORDING, settle_if_needed};
use crate::series::{FlowSeries, LinkSeries};
use crate::sums::Sums;
use crate::tables::extra::ExtraTable;
use crate::tables::parquet::file_name;
use crate::tables::saved::Saved;
use crate::totals::Recording;

/// Why a folder cannot be taken for a recording.
#[derive(Debug, Error)]
#[error("{}{}: expected {expected}, found {found}", path.display(), line.map_or(String::new(), |line| format!(":{line}")))]
pub struct LoadError {
    /// The file or folder.
    pub path: PathBuf,
    /// Line in the file, from 1, if it is a text.
    pub line: Option<usize>,
    /// Expected content.
    pub expected: &'static str,
    /// Content found.
    pub found: String,
}

/// Tables without a place in `recording.json`.
const SERIES: [&str; 2] = ["flow_series", "link_series"];

const FOLDER: &str = "the folder of a recording, as `bentpipe run --out` writes it";

/// Reads a recording back.
///
/// # Errors
/// The folder is none, holds no recording, or one that cannot be read, is damaged, or has files of
/// another run.
pub fn load(folder: impl AsRef<Path>) -> Result<Recording, LoadError> {
    let folder = folder.as_ref();
    let path = folder.join(RECORDING);
    settle_if_needed(folder).map_err(|error| LoadError {
        path: folder.to_owned(),
        line: None,
        expected: "a recording whose files are in their places",
        found: format!(
            "one that was cut short while it was saved, and cannot be finished ({error})"
        ),
    })?;
    let text = fs::read_to_string(&path).map_err(|error| LoadError {
        path: folder.to_owned(),
        line: None,
        expected: FOLDER,
        found: instead(folder, &error),
    })?;
    let mut recording: Recording = serde_json::from_str(&text).map_err(|error| LoadError {
        path: path.clone(),
        line: Some(error.line()),
        expected: "a recording of this version",
        found: error.to_string(),
    })?;
    let sums = Sums::read(folder)?;
    if let Some(sums) = &sums {
        sums.check(folder)?;
        for name in SERIES {
            sums.check_is_of_run(folder, &file_name(name))?;
        }
    }
    let [of_flows, of_links] = SERIES;
    recording.flow_series = series(folder, of_flows, FlowSeries::read)?;
    recording.link_series = series(folder, of_links, LinkSeries::read)?;
    for table in &mut recording.tables {
        *table = read(folder, table.name(), |saved| ExtraTable::read(table.name(), saved))?;
    }
    match digest_in(&text) {
        Some(digest) if sums.is_none() && digest != recording.digest() => Err(LoadError {
            path,
            line: None,
            expected: "totals and tables with the digest that stands in it",
            found: "others: a file of the folder is damaged, of another run, or of another version"
                .into(),
        }),
        _ => Ok(recording),
    }
}

/// The content of a place that holds no recording.
fn instead(folder: &Path, error: &std::io::Error) -> String {
    if error.kind() != ErrorKind::NotFound && folder.is_dir() {
        return format!("a {RECORDING} that cannot be read ({error})");
    }
    match folder {
        folder if !folder.exists() => "nothing of that name".into(),
        folder if !folder.is_dir() => "a file".into(),
        folder if folder.join("study.json").exists() => "that of a study".into(),
        folder if folder.join("rows.json").exists() => "that of a paper".into(),
        _ => format!("a folder without {RECORDING}"),
    }
}

/// A series; there is no file where none was recorded.
fn series<S: Default>(
    folder: &Path,
    name: &str,
    restore: impl FnOnce(&Saved<'_>) -> Result<S, ParquetError>,
) -> Result<S, LoadError> {
    match folder.join(file_name(name)).exists() {
        true => read(folder, name, restore),
        false => Ok(S::default()),
    }
}

/// A table from its file.
fn read<T>(
    folder: &Path,
    name: &str,
    restore: impl FnOnce(&Saved<'_>) -> Result<T, ParquetError>,
) -> Result<T, LoadError> {
    let path = folder.join(file_name(name));
    Saved::read(&path, restore).map_err(|error| LoadError {
        path,
        line: None,
        expected: "a table of a recording as Parquet",
        found: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::output::OutputFolder;
    use crate::tables::tests::sample;

    fn saved(recording: &Recording) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        OutputFolder::create(folder.path(), false).unwrap().save(recording, "", &[]).unwrap();
        folder
    }

    #[test]
    fn what_was_saved_is_loaded_with_every_digit() {
        let mut recording = sample();
        recording.flows[0].goodput_bps = 0.1 + 0.2;
        recording.flows[1].throughput_bps = f64::NAN;
        recording.wall_s = 1.0 / 3.0;
        let loaded = load(saved(&recording).path()).unwrap();
        assert_eq!(loaded.digest(), recording.digest());
        assert_eq!(loaded.to_json(), recording.to_json());
        assert_eq!(loaded.flow_series.ssthresh_bytes, recording.flow_series.ssthresh_bytes);
        assert_eq!(loaded.link_series, recording.link_series);
        assert_eq!(format!("{:?}", loaded.tables), format!("{:?}", recording.tables)); // it has a NaN
    }

    #[test]
    fn a_recording_without_series_has_none_when_loaded() {
        let recording = Recording { scenario: "plain".into(), ..Recording::default() };
        let loaded = load(saved(&recording).path()).unwrap();
        assert_eq!(loaded.digest(), recording.digest());
        assert!(loaded.flow_series.is_empty());
    }

    #[test]
    fn an_extra_table_without_rows_keeps_its_columns() {
        let mut recording = Recording::default();
        let columns = vec![("t_s".to_owned(), Vec::<f64>::new().into())];
        recording.tables.push(ExtraTable::new("drops", columns));
        let folder = saved(&recording);
        assert_eq!(load(folder.path()).unwrap().tables, recording.tables);
        fs::remove_file(folder.path().join("drops.parquet")).unwrap();
        assert!(load(folder.path()).is_err(), "it is listed and has no file");
    }

    /// Found by changing single bytes: the reader of Parquet asserts these, and panics.
    #[test]
    fn a_footer_that_its_reader_asserts_is_an_error_with_the_file() {
        let folder = saved(&sample());
        fs::remove_file(folder.path().join("SHA256SUMS")).unwrap();
        let path = folder.path().join("flow_series.parquet");
        let whole = fs::read(&path).unwrap();
        for at in whole.len() - 300..whole.len() {
            for value in [0xff, whole[at] ^ 0x10] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                fs::write(&path, damaged).unwrap();
                if let Err(error) = load(folder.path()) {
                    assert!(error.path == path || error.path.ends_with(RECORDING), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_folder_that_holds_no_recording_is_told_from_one_that_does() {
        let folder = tempfile::tempdir().unwrap();
        let told = |path: &Path| load(path).unwrap_err().to_string();
        assert!(told(&folder.path().join("no")).ends_with("found nothing of that name"));
        assert!(told(folder.path()).ends_with("found a folder without recording.json"));
        fs::write(folder.path().join("study.json"), "{}").unwrap();
        assert!(told(folder.path()).ends_with("found that of a study"));
        fs::write(folder.path().join("recording.json"), "{\n\"tape\": 7}").unwrap();
        let error = load(folder.path()).unwrap_err();
        assert_eq!((error.line, error.path), (Some(2), folder.path().join("recording.json")));
    }

    /// Loads the folder with each byte of a file changed, with and without the sums. It is refused,
    /// or gives the same numbers.
    fn damage(file: &str, step: usize) {
        let recording = sample();
        for sums in [true, false] {
            let folder = saved(&recording);
            if !sums {
                fs::remove_file(folder.path().join("SHA256SUMS")).unwrap();
            }
            let path = folder.path().join(file);
            let whole = fs::read(&path).unwrap();
            let check = |folder: &tempfile::TempDir, content: &[u8], what: String| {
                fs::write(&path, content).unwrap();
                if let Ok(loaded) = load(folder.path()) {
                    assert!(!sums, "{what} of {file}");
                    assert_eq!(loaded.digest(), recording.digest(), "{what} of {file}");
                }
            };
            for at in (0..whole.len()).step_by(step) {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << (at % 8);
                check(&folder, &damaged, format!("byte {at}"));
            }
            for length in [0, whole.len() / 2, whole.len() - 1] {
                check(&folder, &whole[..length], format!("{length} bytes"));
            }
        }
    }

    #[test]
    fn damage_is_noticed_or_changes_nothing() {
        damage("flow_series.parquet", 5);
        damage("handovers.parquet", 5);
        damage("recording.json", 11);
    }

    #[test]
    fn files_of_another_run_are_refused() {
        let other = saved(&Recording { seed: 7, ..sample() });
        let others = fs::read_dir(other.path()).unwrap().map(|entry| entry.unwrap().file_name());
        for name in others {
            let folder = saved(&sample());
            let (from, to) = (other.path().join(&name), folder.path().join(&name));
            let is_equal = fs::read(&from).unwrap() == fs::read(&to).unwrap();
            fs::copy(from, to).unwrap();
            assert_eq!(load(folder.path()).is_ok(), is_equal, "{}", name.display());
            fs::remove_file(folder.path().join(&name)).unwrap();
            let is_needed = name != "SHA256SUMS";
            assert_eq!(load(folder.path()).is_err(), is_needed, "without {}", name.display());
        }
        let folder = saved(&sample());
        fs::remove_file(folder.path().join("SHA256SUMS")).unwrap();
        let mut series = sample();
        series.flow_series.cwnd_bytes[0] += 1;
        let from = saved(&series);
        let name = "flow_series.parquet";
        fs::copy(from.path().join(name), folder.path().join(name)).unwrap();
        assert!(load(folder.path()).is_err(), "a window of another run");
    }

    #[test]
    fn a_recording_of_a_version_without_digests_is_loaded() {
        let folder = saved(&sample());
        fs::remove_file(folder.path().join("SHA256SUMS")).unwrap();
        let path = folder.path().join("recording.json");
        let text = fs::read_to_string(&path).unwrap();
        let (before, digest) = text.rsplit_once(",").unwrap();
        assert!(digest.contains("\"digest\""), "{digest}");
        fs::write(&path, format!("{before}\n}}\n")).unwrap();
        assert_eq!(load(folder.path()).unwrap().digest(), sample().digest());
    }

    /// A column that this version has and an earlier one had not is null.
    #[test]
    fn a_recording_of_a_version_with_fewer_columns_is_loaded_if_it_has_its_sums() {
        let folder = saved(&sample());
        let path = folder.path().join("recording.json");
        let text = fs::read_to_string(&path).unwrap();
        let earlier = text.replacen("\"abort_cause\": null,", "", 1);
        assert_ne!(earlier, text);
        fs::write(&path, &earlier).unwrap();
        assert!(load(folder.path()).is_err(), "the sum is that of the text before");
        let path_of_sums = folder.path().join("SHA256SUMS");
        let of = |text: &str| crate::digest::hexadecimal(Sha256::new_with_prefix(text));
        let sums = fs::read_to_string(&path_of_sums).unwrap();
        assert!(sums.contains(&of(&text)), "{sums}");
        fs::write(&path_of_sums, sums.replace(&of(&text), &of(&earlier))).unwrap();
        assert_eq!(load(folder.path()).unwrap().digest(), sample().digest());
    }

    #[test]
    fn a_series_that_the_run_did_not_save_is_refused() {
        let plain = Recording { scenario: "plain".into(), ..Recording::default() };
        let (folder, other) = (saved(&plain), saved(&sample()));
        let name = "link_series.parquet";
        fs::copy(other.path().join(name), folder.path().join(name)).unwrap();
        let error = load(folder.path()).unwrap_err();
        assert_eq!(error.path, folder.path().join(name));
        assert!(error.found.contains("another run"), "{error}");
    }

    #[test]
    fn a_series_that_is_none_is_refused() {
        let folder = saved(&sample());
        fs::remove_file(folder.path().join("SHA256SUMS")).unwrap();
        let path = folder.path().join("flow_series.parquet");
        fs::copy(folder.path().join("link_series.parquet"), &path).unwrap();
        let error = load(folder.path()).unwrap_err();
        assert_eq!(error.path, path);
        assert!(error.found.contains("no column flow"), "{error}");
        fs::write(&path, "nonsense").unwrap();
        assert!(load(folder.path()).is_err());
    }
}
