//! Files whose content is a type: keys, values, units and limits are checked against its schema.

use std::path::Path as FilePath;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::check;
use crate::error::{Errors, Place, Problem, Source};
use crate::path::{Path, Step};
use crate::reference;
use crate::schema;
use crate::suggest;
use crate::tree::Tree;

/// A file whose content is a `T`, with the places of its values.
#[derive(Clone, Debug)]
pub struct TypedFile<T> {
    /// The content.
    pub value: T,
    source: Source,
    tree: Tree,
}

/// A value that is not valid, at a path.
#[derive(Clone, Debug)]
pub struct Refused {
    path: Vec<Step>,
    expected: String,
    found: String,
    reason: Option<String>,
    suggestion: Option<String>,
    elsewhere: Option<Box<Place>>,
}

impl Refused {
    /// `found` at a path with indices as numbers (`subnet.0.prefix`), where `expected` was
    /// expected. The file as a whole has no path.
    pub fn new(path: &str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        let step = |text: &str| match text.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key(text.to_owned()),
        };
        Self {
            path: path.split('.').filter(|part| !part.is_empty()).map(step).collect(),
            expected: expected.into(),
            found: found.into(),
            reason: None,
            suggestion: None,
            elsewhere: None,
        }
    }

    /// Sets the place in another file, which the value at the path names.
    pub fn elsewhere(mut self, place: Place) -> Self {
        self.elsewhere = Some(Box::new(place));
        self
    }

    /// Adds the reason.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets the suggestion.
    pub fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }

    /// The same at a path below `base`, in the tree of another file.
    pub fn below(self, base: &Path) -> Problem {
        let Self { path, expected, found, reason, suggestion, elsewhere } = self;
        let path = Path(base.0.iter().cloned().chain(path).collect());
        Problem { reason, suggestion, elsewhere, ..Problem::new(path, expected, found) }
    }

    /// Adds the names that the value found is most likely a slip of.
    pub fn nearest<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let plain = self.found.trim_matches('"');
        self.suggestion = suggest::nearest(plain, names);
        self
    }
}

impl<T: JsonSchema + DeserializeOwned> TypedFile<T> {
    /// Reads a file; an error of opening it names `what` as expected.
    ///
    /// # Errors
    /// All errors of keys and values.
    pub fn load(path: &FilePath, what: &str) -> Result<Self, Errors> {
        Self::checked(Source::open(path, what)?)
    }

    /// Reads a text; errors name it `file`.
    ///
    /// # Errors
    /// All errors of keys and values.
    pub fn parse(text: &str, file: &FilePath) -> Result<Self, Errors> {
        let source =
            Source { file: Some(file.to_owned()), text: text.to_owned(), sets: Vec::new() };
        Self::checked(source)
    }

    fn checked(source: Source) -> Result<Self, Errors> {
        let tree = source.parse()?;
        let problems = check::check(&tree, &Self::schema());
        if !problems.is_empty() {
            return Err(source.report(&tree, problems));
        }
        let value = serde_json::from_value(tree.to_json()).map_err(|error| {
            // The schema is made from the types, so this is a defect of the check, not of the file.
            let problem = Problem::new(Path::default(), "a valid file", "one that is not");
            source.report(&tree, vec![problem.because(error.to_string())])
        })?;
        Ok(Self { value, source, tree })
    }

    /// The JSON Schema of the file.
    pub fn schema() -> Json {
        schema::of::<T>()
    }

    /// The reference of the keys in Markdown, with headings from `level`.
    pub fn reference(level: usize) -> String {
        reference::sections(&Self::schema(), "Keys of the file", level, |_, _| false)
    }
}

impl<T> TypedFile<T> {
    /// Errors at the places of `refused`, in the order of the file.
    pub fn report(&self, refused: Vec<Refused>) -> Errors {
        let problems = refused.into_iter().map(|refused| refused.below(&Path::default()));
        self.source.report(&self.tree, problems.collect())
    }

    /// The folder of the file: names of other files in it are relative to this folder.
    pub fn directory(&self) -> &FilePath {
        self.source.directory()
    }

    /// The place of the value at `path` (as in [`Refused::new`]).
    pub fn place(&self, path: &str) -> Place {
        let refused = Refused::new(path, "", "");
        self.source.place(&self.tree.nearest(&Path(refused.path)).origin)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct File {
        /// Ports.
        ports: Vec<u16>,
    }

    #[test]
    fn errors_have_places_and_names() {
        let file = FilePath::new("a.toml");
        let error = TypedFile::<File>::parse("\nport = [1]\n", file).unwrap_err().to_string();
        assert!(error.contains("a.toml:2:1: port: "), "{error}");
        assert!(error.contains("did you mean"), "{error}");
        let read = TypedFile::<File>::parse("ports = [1,\n 2]", file).unwrap();
        assert_eq!(read.value.ports, [1, 2]);
        let place = Place { file: Some("list.txt".into()), line: Some(7), ..Place::default() };
        let other = Refused::new("ports", "a list of ports", "a letter").elsewhere(place);
        let error = read.report(vec![other]).to_string();
        assert_eq!(error, "list.txt:7: ports: expected a list of ports, found a letter");
        let refused = Refused::new("ports.1", "an odd port", "2").because("even is taken");
        let error = read.report(vec![refused]).to_string();
        assert!(
            error.starts_with("a.toml:2:2: ports[1]: expected an odd port, found 2"),
            "{error}"
        );
        assert_eq!(read.place("ports.1").line, Some(2));
    }
}
