//! Reading of a scenario from a file, a text or a value of a program.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};

use language::check;
use language::error::{Errors, Place, Problem, Source};
use language::overrides::{self, Override};
use language::path::Path;
use language::tree::{Origin, Tree, Value};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::document::Document;
use crate::given::Given;
use crate::mix;
use crate::model::Scenario;
use crate::names;
use crate::resolve;
use crate::schema;

/// A scenario with the values that it was made from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// The written values, which are no defaults.
    pub written: Written,
    /// The values that the scenario was made from.
    pub given: Given,
}

/// The paths of a scenario that were written in the file or by an override, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    origins: BTreeMap<String, Origin>,
    source: Source,
    /// For each flow, the number of its `[[flow]]`.
    pub entries: Vec<usize>,
    /// For each `[[flow]]` of a mix, the number of its `[[mix]]`. They are the last entries.
    pub mixes: Vec<usize>,
    /// The whole document with every default that the language has a word for.
    pub document: Json,
}

impl Written {
    /// True if there is a value at `path`, in the form of errors: `link[0].forward.rate`.
    pub fn contains(&self, path: &str) -> bool {
        self.origins.contains_key(path)
    }

    /// The number of the `[[flow]]` that flow `number` comes from; several do with `count`.
    pub fn entry_of(&self, number: usize) -> usize {
        self.entries[number]
    }

    /// The place of the first of `paths` that was written, otherwise that of the whole source.
    pub fn place<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Place {
        let found = paths.into_iter().find_map(|path| self.origins.get(path));
        self.source.place(found.unwrap_or(&Origin::Program))
    }

    fn of(tree: &Tree, entries: Vec<usize>, document: &Document, source: Source) -> Self {
        let document = serde_json::to_value(document).unwrap_or_default();
        let origins = BTreeMap::new();
        let mut written = Self { origins, source, entries, mixes: Vec::new(), document };
        written.add(tree, &Path::default());
        written
    }

    fn add(&mut self, tree: &Tree, path: &Path) {
        self.origins.insert(path.to_string(), tree.origin.clone());
        match &tree.value {
            Value::List(items) => {
                items.iter().enumerate().for_each(|(i, item)| self.add(item, &path.index(i)));
            }
            Value::Table(entries) => {
                entries.iter().for_each(|entry| self.add(&entry.tree, &path.key(&entry.key)));
            }
            _ => {}
        }
    }
}

impl Loaded {
    /// Reads a scenario file and writes `sets` over it.
    ///
    /// # Errors
    /// All errors of the file and the overrides.
    pub fn load(path: impl AsRef<FilePath>, sets: &[Override]) -> Result<Self, Errors> {
        Self::read(Source::open(path.as_ref(), "a scenario file")?, sets)
    }

    /// Reads a scenario from `text`; errors name it `file`.
    ///
    /// # Errors
    /// All errors of the text and the overrides.
    pub fn parse(
        text: &str,
        file: impl AsRef<FilePath>,
        sets: &[Override],
    ) -> Result<Self, Errors> {
        Self::read_text(text, Some(file.as_ref().to_owned()), sets)
    }

    /// Reads a scenario from a text that may come from no file.
    ///
    /// # Errors
    /// All errors of the text and the overrides.
    pub fn read_text(text: &str, file: Option<PathBuf>, sets: &[Override]) -> Result<Self, Errors> {
        Self::read(Source { file, text: text.to_owned(), sets: Vec::new() }, sets)
    }

    fn read(source: Source, sets: &[Override]) -> Result<Self, Errors> {
        let tree = source.parse()?;
        complete(source, tree, sets)
    }

    /// Takes a scenario that a program made: the same keys and values as in a file.
    ///
    /// # Errors
    /// All errors of the value and the overrides.
    pub fn from_json(json: &Json, sets: &[Override]) -> Result<Self, Errors> {
        complete(Source::default(), Tree::from_json(json), sets)
    }
}

impl Scenario {
    /// Reads a scenario file and writes `sets` over it.
    ///
    /// # Errors
    /// All errors of the file and the overrides.
    pub fn load(path: impl AsRef<FilePath>, sets: &[Override]) -> Result<Self, Errors> {
        Loaded::load(path, sets).map(|loaded| loaded.scenario)
    }

    /// Reads a scenario from `text`; errors name it `file`.
    ///
    /// # Errors
    /// All errors of the text and the overrides.
    pub fn parse(
        text: &str,
        file: impl AsRef<FilePath>,
        sets: &[Override],
    ) -> Result<Self, Errors> {
        Loaded::parse(text, file, sets).map(|loaded| loaded.scenario)
    }

    /// Takes a scenario that a program made: the same keys and values as in a file.
    ///
    /// # Errors
    /// All errors of the value and the overrides.
    pub fn from_json(json: &Json, sets: &[Override]) -> Result<Self, Errors> {
        Loaded::from_json(json, sets).map(|loaded| loaded.scenario)
    }
}

/// Writes `sets` over `tree`, then checks and resolves the result.
pub(crate) fn complete(
    mut source: Source,
    mut tree: Tree,
    sets: &[Override],
) -> Result<Loaded, Errors> {
    let schema = schema::cached();
    let first = source.sets.len();
    source.sets.extend_from_slice(sets);
    let problems = overrides::apply(&mut tree, schema, sets, first, names::names_of);
    if !problems.is_empty() {
        return Err(source.report(&tree, problems));
    }
    let problems = check::check(&tree, schema);
    if !problems.is_empty() {
        return Err(source.report(&tree, problems));
    }
    let mut document: Document =
        typed(tree.to_json()).map_err(|problem| source.report(&tree, vec![*problem]))?;
    let mut problems = Vec::new();
    let spelt = mix::spell_out(&tree, document.flow.len(), &document.mix, &mut problems);
    if !problems.is_empty() {
        return Err(source.report(&tree, problems));
    }
    for flow in &spelt.flows {
        let flow = typed(flow.to_json());
        document.flow.push(flow.map_err(|problem| source.report(&tree, vec![*problem]))?);
    }
    let given = Given { source, tree, spelt };
    let (source, tree) = (&given.source, given.whole());
    let stem = source.file.as_deref().and_then(FilePath::file_stem);
    let name = default_name(&stem.unwrap_or_default().to_string_lossy());
    let resolved = resolve::resolve(&document, &tree, source.directory(), &name);
    match resolved.problems {
        problems if problems.is_empty() => {
            let mut written = Written::of(&tree, resolved.entries, &document, source.clone());
            written.mixes.clone_from(&given.spelt.of);
            Ok(Loaded { scenario: resolved.scenario, written, given })
        }
        problems => {
            let problems = problems.into_iter().map(|problem| given.spelt.moved(problem));
            Err(source.report(&tree, problems.collect()))
        }
    }
}

/// A value of the language that the schema admits.
fn typed<T: DeserializeOwned>(json: Json) -> Result<T, Box<Problem>> {
    serde_json::from_value(json).map_err(|error| {
        // The schema is made from the types, so this is a defect of the check, not of the file.
        let found = "one that it does not";
        let problem = Problem::new(Path::default(), "a value that the language admits", found);
        Box::new(problem.because(error.to_string()))
    })
}

/// The file's name as a scenario's name.
fn default_name(file_name: &str) -> String {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = file_name.chars().filter(|c| allowed(*c)).take(64).collect();
    match name.trim_start_matches('.') {
        "" => "scenario".into(),
        name => name.into(),
    }
}
