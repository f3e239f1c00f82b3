//! `SHA256SUMS`: the SHA-256 of each file of a saved recording, in the form that
//! `sha256sum --check` reads. It shows damage to any of them, and files of another run.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::digest::hexadecimal;
use crate::load::LoadError;

/// Name of the file.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// Names of files and their sums.
#[derive(Debug, Default)]
pub(crate) struct Sums(Vec<(String, String)>);

impl Sums {
    /// Adds a file whose content went through `sink`.
    pub(crate) fn add(&mut self, name: &str, sink: Summed<impl Write>) {
        self.0.push((name.to_owned(), hexadecimal(sink.hash)));
    }

    /// The content of [`SUMS`].
    pub(crate) fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, (name, sum)| {
            let _ = writeln!(text, "{sum}  {name}"); // a string takes everything
            text
        })
    }

    /// The sums of a folder; `None` if it has none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, LoadError> {
        let path = folder.join(SUMS);
        let wrong = |line, found: String| LoadError {
            path: path.clone(),
            line,
            expected: "lines as `sha256sum` writes them",
            found,
        };
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| wrong(None, error.to_string()))?,
        };
        let line = |(number, line): (usize, &str)| match line.split_once("  ") {
            Some((sum, name)) if !name.contains('/') => Ok((name.to_owned(), sum.to_owned())),
            _ => Err(wrong(Some(number + 1), format!("{line:.80?}"))),
        };
        text.lines().enumerate().map(line).collect::<Result<_, _>>().map(Self).map(Some)
    }

    /// Compares all files of the folder with their sums.
    pub(crate) fn check(&self, folder: &Path) -> Result<(), LoadError> {
        for (name, sum) in &self.0 {
            let path = folder.join(name);
            let found = match sum_of(&path) {
                Ok(found) if found == *sum => continue,
                Ok(_) => format!("other content than {SUMS} says: damaged, or of another run"),
                Err(error) if error.kind() == io::ErrorKind::NotFound => "none".to_owned(),
                Err(error) => format!("one that cannot be read ({error})"),
            };
            return Err(LoadError {
                path,
                line: None,
                expected: "the file that this run saved",
                found,
            });
        }
        Ok(())
    }

    /// Refuses a file that is in the folder and was not saved with the others.
    pub(crate) fn check_is_of_run(&self, folder: &Path, name: &str) -> Result<(), LoadError> {
        let path = folder.join(name);
        if !path.exists() || self.0.iter().any(|(saved, _)| saved == name) {
            return Ok(());
        }
        Err(LoadError {
            path,
            line: None,
            expected: "no file of this name, because this run saved none",
            found: "one of another run".into(),
        })
    }
}

fn sum_of(path: &Path) -> io::Result<String> {
    let mut sink = Summed::new(io::sink());
    io::copy(&mut BufReader::new(File::open(path)?), &mut sink)?;
    Ok(hexadecimal(sink.hash))
}

/// A sink that sums up what it is given.
pub(crate) struct Summed<W: Write> {
    sink: W,
    hash: Sha256,
}

impl<W: Write> Summed<W> {
    pub(crate) fn new(sink: W) -> Self {
        Self { sink, hash: Sha256::new() }
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
