//! Errors of a scenario, with place, expected and found value, and the nearest valid name.

use std::fmt;
use std::path::{Path as FilePath, PathBuf};

use serde::Serialize;

use crate::overrides::Override;
use crate::path::Path;
use crate::tree::{Origin, Tree};

/// The place of a value: file, line and column, or override.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file, if it was one.
    #[serde(serialize_with = "lossy")]
    pub file: Option<PathBuf>,
    /// Line of a text or row of a table, from 1; `None` is the file as a whole, an override or a
    /// program.
    pub line: Option<usize>,
    /// Column in the line in characters, from 1.
    pub column: Option<usize>,
    /// The override, as it was written: `--set PATH=VALUE`, or `with PATH=VALUE` in a program.
    pub set: Option<String>,
    /// The line, and the number of characters to underline.
    #[serde(skip)]
    pub excerpt: Option<(String, usize)>,
}

fn lossy<S: serde::Serializer>(file: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    file.as_ref().map(|file| file.to_string_lossy()).serialize(serializer)
}

/// What a message begins with: `geo.toml:3:7: `, `--set seed=x: `, or nothing.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.set, &self.file, self.line) {
            (Some(set), ..) => write!(f, "{set}: "),
            (None, Some(file), _) => {
                write!(f, "{}:", file.display())?;
                for number in [self.line, self.column].into_iter().flatten() {
                    write!(f, "{number}:")?;
                }
                f.write_str(" ")
            }
            (None, None, Some(line)) => write!(f, "line {line}: "),
            (None, None, None) => Ok(()),
        }
    }
}

impl Place {
    /// The line of the file with a mark beneath.
    fn excerpt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some((text, width)), Some(line), Some(column)) =
            (&self.excerpt, self.line, self.column)
        else {
            return Ok(());
        };
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let indent = " ".repeat(column - 1);
        let mark = "^".repeat(*width);
        write!(f, "\n {margin} |\n {number} | {text}\n {margin} | {indent}{mark}")
    }
}

/// One error of a scenario or a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScenarioError {
    /// Where it was written.
    #[serde(flatten)]
    pub place: Place,
    /// Where in the scenario or study: `link[0].forward.queue`. Empty for the whole file.
    pub path: String,
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
    /// The reason why the value is invalid.
    pub reason: Option<String>,
    /// The nearest valid name or value.
    pub suggestion: Option<String>,
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    /// A value from a program that is not valid in any scenario.
    pub fn of_value(path: &str, expected: &str, found: &str) -> Self {
        Self {
            place: Place::default(),
            path: path.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
            reason: None,
            suggestion: None,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "expected {}, found {}", self.expected, self.found)?;
        if let Some(reason) = &self.reason {
            write!(f, ": {reason}")?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean {suggestion}?")?;
        }
        self.place.excerpt(f)
    }
}

/// All errors of a scenario or a study, in the order of the file; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl std::error::Error for ScenarioErrors {}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl From<ScenarioError> for ScenarioErrors {
    fn from(error: ScenarioError) -> Self {
        Self(vec![error])
    }
}

/// An error of a value, before its place in the file is known.
#[derive(Clone, Debug)]
pub struct Problem {
    pub path: Path,
    /// Where it was written; `None` looks it up by the path.
    pub origin: Option<Origin>,
    /// The place in another file, which the scenario names at the path.
    pub elsewhere: Option<Box<Place>>,
    pub expected: String,
    pub found: String,
    pub reason: Option<String>,
    pub suggestion: Option<String>,
}

impl Problem {
    pub fn new(path: Path, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            path,
            origin: None,
            elsewhere: None,
            expected: expected.into(),
            found: found.into(),
            reason: None,
            suggestion: None,
        }
    }

    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    pub fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }

    pub fn at(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }
}

/// What a scenario was read from: what is needed to point at its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub file: Option<PathBuf>,
    pub text: String,
    /// The overrides that were written over it.
    pub sets: Vec<Override>,
}

/// A line longer than this was not written to be read.
const LONGEST_EXCERPT: usize = 200;

impl Source {
    /// Reads a file; the error says that `what` was expected.
    pub fn open(path: &FilePath, what: &str) -> Result<Self, ScenarioErrors> {
        let source = Self { file: Some(path.to_owned()), ..Self::default() };
        let text = std::fs::read_to_string(path).map_err(|error| {
            let found = match error.kind() {
                std::io::ErrorKind::NotFound => "no such file".to_owned(),
                _ => format!("one that cannot be read ({error})"),
            };
            source.failure(Problem::new(Path::default(), what, found))
        })?;
        Ok(Self { text, ..source })
    }

    /// The values of the text.
    pub fn parse(&self) -> Result<Tree, ScenarioErrors> {
        Tree::parse(&self.text).map_err(|error| {
            let problem = Problem::new(Path::default(), "valid TOML", "a syntax error");
            let problem = problem.because(error.message().replace('\n', ", "));
            self.failure(match error.span() {
                Some(span) => problem.at(span.into()),
                None => problem,
            })
        })
    }

    /// From where names of files count.
    pub fn directory(&self) -> &FilePath {
        self.file.as_deref().and_then(FilePath::parent).unwrap_or(FilePath::new(""))
    }

    /// The errors that `problems` are in this source, in the order of the file.
    pub fn report(&self, tree: &Tree, problems: Vec<Problem>) -> ScenarioErrors {
        let mut located: Vec<_> = problems
            .into_iter()
            .map(|p| (p.origin.clone().unwrap_or_else(|| tree.nearest(&p.path).origin.clone()), p))
            .collect();
        located.sort_by(|(a, _), (b, _)| a.cmp(b));
        ScenarioErrors(located.into_iter().map(|(origin, p)| self.error(&origin, p)).collect())
    }

    /// The one error that kept the source from being read at all.
    pub fn failure(&self, problem: Problem) -> ScenarioErrors {
        let origin = problem.origin.clone().unwrap_or(Origin::Program);
        self.error(&origin, problem).into()
    }

    fn error(&self, origin: &Origin, problem: Problem) -> ScenarioError {
        let Problem { path, expected, found, reason, suggestion, elsewhere, .. } = problem;
        let place = elsewhere.map_or_else(|| self.place(origin), |elsewhere| *elsewhere);
        ScenarioError { place, path: path.to_string(), expected, found, reason, suggestion }
    }

    /// Where `origin` is.
    pub fn place(&self, origin: &Origin) -> Place {
        let whole = Place { file: self.file.clone(), ..Place::default() };
        match origin {
            Origin::File(start, end) => self.bytes(*start, *end),
            Origin::Set(number) => {
                Place { set: self.sets.get(*number).map(Override::label), ..whole }
            }
            Origin::Program => whole,
        }
    }

    /// Line and column of the bytes from `start` to `end`; the file as a whole has none.
    fn bytes(&self, start: usize, end: usize) -> Place {
        let whole = Place { file: self.file.clone(), ..Place::default() };
        let whole_file = start == 0 && end >= self.text.len();
        let Some(before) = self.text.get(..start).filter(|_| !whole_file) else { return whole };
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line_text = self.text[line_start..].lines().next().unwrap_or("");
        let column = self.text[line_start..start].chars().count() + 1;
        let marked = self.text.get(start..end).unwrap_or("").lines().next().unwrap_or("");
        Place {
            line: Some(before.matches('\n').count() + 1),
            column: Some(column),
            excerpt: excerpt(line_text, marked.chars().count()),
            ..whole
        }
    }
}

/// A line to show and how many of its characters to underline, if it was written to be read.
pub fn excerpt(line: &str, width: usize) -> Option<(String, usize)> {
    // A tab is a control character, but one that people indent with.
    let shown = line.replace('\t', " ");
    let printable = shown.len() <= LONGEST_EXCERPT && !shown.contains(char::is_control);
    printable.then_some((shown, width.max(1)))
}
