//! The study language: reading of a study file, with the same front end as scenarios.
//!
//! The keys and values of a study are the types of `document`. What needs a scenario or the names
//! of quantities is checked by the reader of the study (in Python), which reports what it finds
//! with
//! [`StudySource::report`]: those errors have the same places and the same form.

mod document;

use std::path::Path as FilePath;
use std::sync::LazyLock;

use language::check;
use language::error::{Errors, Problem, Source};
use language::path::{Path, Step};
use language::reference;
use language::schema as generated;
use language::tree::Tree;
use serde_json::Value as Json;

use document::StudyDocument;

static SCHEMA: LazyLock<Json> = LazyLock::new(generated::of::<StudyDocument>);

/// The JSON Schema of a study file.
pub fn study_schema() -> Json {
    generated::published("study", &SCHEMA)
}

/// The reference of the keys of a study in Markdown, for `docs/studies.md`.
pub fn study_reference() -> String {
    reference::sections(&SCHEMA, "Keys of the file", 3, |_, _| false)
}

/// A study whose keys and values are valid, with the places of its values.
#[derive(Clone, Debug)]
pub struct StudySource {
    source: Source,
    tree: Tree,
    document: Json,
}

/// An error that the reader of a study found at a path.
#[derive(Clone, Debug)]
pub struct StudyProblem {
    /// The keys and indices that lead to the value.
    pub path: Vec<Step>,
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
    /// The reason why the value is invalid.
    pub reason: Option<String>,
    /// The nearest valid name or value.
    pub suggestion: Option<String>,
}

impl StudySource {
    /// Reads a study file.
    ///
    /// # Errors
    /// All errors of keys and values.
    pub fn load(path: impl AsRef<FilePath>) -> Result<Self, Errors> {
        let source = Source::open(path.as_ref(), "a study file")?;
        let tree = source.parse()?;
        Self::checked(source, tree)
    }

    /// Takes a study that a program made: the same keys and values as in a file.
    ///
    /// # Errors
    /// All errors of keys and values.
    pub fn from_json(json: &Json) -> Result<Self, Errors> {
        Self::checked(Source::default(), Tree::from_json(json))
    }

    fn checked(source: Source, tree: Tree) -> Result<Self, Errors> {
        if let (Some(link), None) = (tree.entry("link"), tree.get("scenario")) {
            let problem = Problem::new(Path::default(), "a study", "a scenario");
            let reason = "the key `scenario` of a study names its scenario file";
            let problem = problem.because(reason).at(link.origin.clone());
            return Err(source.report(&tree, vec![problem]));
        }
        let problems = check::check(&tree, &SCHEMA);
        if !problems.is_empty() {
            return Err(source.report(&tree, problems));
        }
        let document = serde_json::from_value::<StudyDocument>(tree.to_json());
        let document = document.and_then(serde_json::to_value).map_err(|error| {
            // The schema is made from the types, so this is a defect of the check, not of the file.
            let problem = Problem::new(Path::default(), "a valid study", "a study that is not");
            source.report(&tree, vec![problem.because(error.to_string())])
        })?;
        Ok(Self { source, tree, document })
    }

    /// The study with its defaults, as JSON. Tables keep the order of the file.
    pub fn document(&self) -> &Json {
        &self.document
    }

    /// The text of the file; empty for a study of a program.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The errors that `problems` are in this study, in the order of the file.
    pub fn report(&self, problems: Vec<StudyProblem>) -> Errors {
        let problems = problems.into_iter().map(|problem| {
            let StudyProblem { path, expected, found, reason, suggestion } = problem;
            Problem { reason, suggestion, ..Problem::new(Path(path), expected, found) }
        });
        self.source.report(&self.tree, problems.collect())
    }
}

#[cfg(test)]
mod tests;
