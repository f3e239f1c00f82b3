//! Errors of a file, with place, expected and found value, and the nearest valid name.

use std::fmt;
use std::path::{Path as FilePath, PathBuf};

use serde::Serialize;

use crate::overrides::Override;
use crate::path::Path;
use crate::tree::{Origin, Tree};

/// The place of a value: file, line and column, or override.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file; `None` for a text or a value of a program.
    #[serde(serialize_with = "lossy")]
    pub file: Option<PathBuf>,
    /// Line of a text or row of a table, from 1; `None` is the file as a whole, an override or a
    /// program.
    pub line: Option<usize>,
    /// Column in the line in characters, from 1.
    pub column: Option<usize>,
    /// The override, as it was written: `--set PATH=VALUE`, or `with PATH=VALUE` in a program.
    pub set: Option<String>,
    /// The line, and the number of its characters to underline.
    #[serde(skip)]
    pub excerpt: Option<(String, usize)>,
}

fn lossy<S: serde::Serializer>(file: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    file.as_ref().map(|file| file.to_string_lossy()).serialize(serializer)
}

/// The beginning of a message: `geo.toml:3:7: `, `--set seed=x: `, or nothing.
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

/// One error of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Error {
    /// The place of the value.
    #[serde(flatten)]
    pub place: Place,
    /// The path of the value: `link[0].forward.queue`. Empty for the whole file.
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

impl std::error::Error for Error {}

impl Error {
    /// An invalid value of a program, which has no place in a file.
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

impl fmt::Display for Error {
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

/// All errors of a file, in its order; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(pub Vec<Error>);

impl std::error::Error for Errors {}

impl fmt::Display for Errors {
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

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self(vec![error])
    }
}

/// An error of a value, before its place in the file is known.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The path of the value.
    pub path: Path,
    /// The origin of the value; `None` is that of the value at the path.
    pub origin: Option<Origin>,
    /// The place in another file, which the value at the path names.
    pub elsewhere: Option<Box<Place>>,
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
    /// The reason why the value is invalid.
    pub reason: Option<String>,
    /// The nearest valid name or value.
    pub suggestion: Option<String>,
}

impl Problem {
    /// `found` at `path`, where `expected` was expected.
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

    /// Adds the reason.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Adds the nearest valid name, if there is one.
    pub fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }

    /// Sets the origin of the value.
    pub fn at(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }
}

/// The text of a file and the overrides over it, with which errors find their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The file; `None` for a text or a value of a program.
    pub file: Option<PathBuf>,
    /// The content; empty for a value of a program.
    pub text: String,
    /// The overrides that were written over the text, in their order.
    pub sets: Vec<Override>,
}

/// Longest line in bytes that a message shows.
const LONGEST_EXCERPT: usize = 200;

impl Source {
    /// Reads a file; an error names `what` as expected.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(path: &FilePath, what: &str) -> Result<Self, Errors> {
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
    ///
    /// # Errors
    /// If the text is not valid TOML.
    pub fn parse(&self) -> Result<Tree, Errors> {
        Tree::parse(&self.text).map_err(|error| {
            let problem = Problem::new(Path::default(), "valid TOML", "a syntax error");
            let problem = problem.because(error.message().replace('\n', ", "));
            self.failure(match error.span() {
                Some(span) => problem.at(span.into()),
                None => problem,
            })
        })
    }

    /// The folder of the file: names of other files are relative to it.
    pub fn directory(&self) -> &FilePath {
        self.file.as_deref().and_then(FilePath::parent).unwrap_or(FilePath::new(""))
    }

    /// Errors at the places of `problems`, in the order of the file.
    pub fn report(&self, tree: &Tree, problems: Vec<Problem>) -> Errors {
        let mut located: Vec<_> = problems
            .into_iter()
            .map(|p| (p.origin.clone().unwrap_or_else(|| tree.nearest(&p.path).origin.clone()), p))
            .collect();
        located.sort_by(|(a, _), (b, _)| a.cmp(b));
        Errors(located.into_iter().map(|(origin, p)| self.error(&origin, p)).collect())
    }

    /// The only error of a source that cannot be read at all.
    pub fn failure(&self, problem: Problem) -> Errors {
        let origin = problem.origin.clone().unwrap_or(Origin::Program);
        self.error(&origin, problem).into()
    }

    fn error(&self, origin: &Origin, problem: Problem) -> Error {
        let Problem { path, expected, found, reason, suggestion, elsewhere, .. } = problem;
        let place = elsewhere.map_or_else(|| self.place(origin), |elsewhere| *elsewhere);
        Error { place, path: path.to_string(), expected, found, reason, suggestion }
    }

    /// The place of `origin`.
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

/// A line to show and the number of its characters to underline; `None` for a line that is too long
/// or has control characters.
pub fn excerpt(line: &str, width: usize) -> Option<(String, usize)> {
    // A tab is a control character, but one that people indent with.
    let shown = line.replace('\t', " ");
    let printable = shown.len() <= LONGEST_EXCERPT && !shown.contains(char::is_control);
    printable.then_some((shown, width.max(1)))
}
