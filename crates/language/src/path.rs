//! Paths of values in a file: `link[0].forward.queue`.

use std::fmt;

/// One step from a value to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Into a table.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// The steps from the whole file to one of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// The list of tables `name`, at `index`: `link[0]`.
    pub fn entry(name: &str, index: usize) -> Self {
        Self::default().key(name).index(index)
    }

    /// This path and one key.
    pub fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    /// This path and one index.
    pub fn index(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    /// The path without indices, as in the header of a table: `link.event`.
    pub fn header(&self) -> Self {
        Self(self.0.iter().filter(|step| matches!(step, Step::Key(_))).cloned().collect())
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    let dot = if i > 0 { "." } else { "" };
                    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
                    if !key.is_empty() && key.chars().all(plain) {
                        write!(f, "{dot}{key}")?;
                    } else {
                        write!(f, "{dot}{key:?}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shown_as_it_would_be_written() {
        let path = Path::entry("link", 0).key("forward").key("odd key");
        assert_eq!(path.to_string(), r#"link[0].forward."odd key""#);
    }
}
