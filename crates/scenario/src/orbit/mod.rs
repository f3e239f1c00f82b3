//! Paths over satellites that move: the files of `bentpipe orbit`, and the series that they give.
//!
//! The crate `orbit` computes. This module reads its files, has the constellations with a name, and
//! puts results in words.

mod constellations;
mod document;
mod files;
mod kept;
mod resolve;
mod result;
mod signal;

use std::path::Path as FilePath;

use language::{Errors, Refused, TypedFile};

use crate::trace::Trace;

pub use constellations::{CONSTELLATIONS, Constellation};
pub(crate) use document::Document;
pub(crate) use files::Files;
use resolve::Setup;
pub(crate) use resolve::{DATE, Run};
pub use result::{OrbitGap, OrbitHandover, OrbitRow, OrbitSeries};
pub use signal::OrbitSignal;

/// A file of `bentpipe orbit` without errors.
#[derive(Clone, Debug)]
pub struct OrbitFile {
    file: TypedFile<Document>,
    setup: Setup,
    run: Run,
}

impl OrbitFile {
    /// Reads a file, and the elements that it names.
    ///
    /// # Errors
    /// All errors of keys and values, or the first one of the elements.
    pub fn load(path: &FilePath) -> Result<Self, Errors> {
        Self::load_for(path, Run::default())
    }

    /// The same for a run of a scenario.
    pub(crate) fn load_for(path: &FilePath, run: Run) -> Result<Self, Errors> {
        Self::checked(TypedFile::load(path, "a file with an orbit")?, run)
    }

    /// Reads a text; errors name it `file`, and other files are relative to it.
    ///
    /// # Errors
    /// All errors of keys and values, or the first one of the elements.
    pub fn parse(text: &str, file: &FilePath) -> Result<Self, Errors> {
        Self::checked(TypedFile::parse(text, file)?, Run::default())
    }

    fn checked(file: TypedFile<Document>, run: Run) -> Result<Self, Errors> {
        let resolved = {
            let directory = file.directory();
            resolve::resolve(&file.value, &|_, name| directory.join(&name.0), run)
        };
        match resolved {
            Ok(setup) => Ok(Self { file, setup, run }),
            Err(refused) => Err(file.report(refused)),
        }
    }

    /// Computes the path over time.
    ///
    /// # Errors
    /// If a satellite has decayed, or if there is no path at any time.
    pub fn run(&self) -> Result<OrbitSeries, Errors> {
        result::run(&self.setup).map_err(|refused| self.file.report(refused))
    }

    /// The trace of a link from the start of the run on.
    ///
    /// # Errors
    /// Those of [`OrbitFile::run`].
    pub(crate) fn trace(&self) -> Result<Trace, Errors> {
        kept::trace(&self.file.value, self.run, || self.run().map(|series| series.trace()))
    }
}

/// The trace of a table in a scenario. `files` finds the files that it names.
pub(crate) fn trace_of_table(
    document: &Document,
    files: Files<'_>,
    run: Run,
) -> Result<Trace, Vec<Refused>> {
    let setup = resolve::resolve(document, files, run)?;
    kept::trace(document, run, || result::run(&setup).map(|series| series.trace()))
}

/// Names of the columns of a saved series: those that a link needs, then those that describe the
/// path, which a link ignores. A series without a signal has no rates, losses and other columns of
/// the signal.
pub fn columns() -> Vec<&'static str> {
    let played = ["t_s", "delay_ms", "outage", "rate_bps", "loss_ratio"];
    played.into_iter().chain(orbit::series::DESCRIPTIVE).collect()
}

/// The JSON Schema of the files.
pub fn schema() -> serde_json::Value {
    TypedFile::<Document>::schema()
}

/// The reference of the keys in Markdown, a part of `docs/orbit.md`.
pub fn reference() -> String {
    TypedFile::<Document>::reference(3)
}

#[cfg(test)]
mod tests;
