//! Parts of a script.

use crate::packet::Packet;

/// Which rules a script is about, from the first word of its first comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// An RFC, and Linux does something else or nothing.
    Rfc,
    /// Linux, where no RFC says so.
    Linux,
    /// An RFC, and Linux does the same.
    Both,
}

/// A parsed script.
#[derive(Clone, Debug)]
pub struct Script {
    /// Where it comes from.
    pub path: String,
    /// `None` if its first comment does not name it.
    pub follows: Option<Follows>,
    /// The version of Linux whose rule it is, if its first comment has one (`linux-6.18:`). Its
    /// host has buffers that tune themselves.
    pub version: Option<String>,
    /// The first comment without that word: the rule and its source.
    pub rule: String,
    /// The tolerance that it sets for itself, in microseconds.
    pub tolerance: Option<i64>,
    /// In the order of the file.
    pub events: Vec<Event>,
}

/// One line, or more, of a script.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its line, counted from 1.
    pub line: usize,
    /// When it happens.
    pub when: When,
    /// The action.
    pub action: Action,
}

/// A time in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At any time.
    Any,
    /// Since the start.
    At(i64),
    /// Since the start, from and to.
    AtBetween(i64, i64),
    /// Since the event before.
    After(i64),
    /// Since the event before, from and to.
    AfterBetween(i64, i64),
}

/// The action.
#[derive(Clone, Debug)]
pub enum Action {
    /// A segment arrives at the host.
    Inject(Packet),
    /// A segment leaves the host.
    Expect(Packet),
    /// The application calls.
    Call(Call),
    /// A shell command, for its settings.
    Command(String),
    /// Assertions on `TCP_INFO`.
    Check(String),
}

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// When it ends if it blocks, on the scale of its start.
    pub until: Option<i64>,
    /// Its result.
    pub result: Expected,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Whatever.
    Any,
    /// This number.
    Number(i64),
    /// -1 and this error.
    Error(String),
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// `...`: whatever the host takes.
    Ellipsis,
    /// A number.
    Number(i64),
    /// Names joined by `|`.
    Names(Vec<String>),
    /// A text in quotes.
    Text(String),
    /// `[a, b]`.
    List(Vec<Self>),
    /// `{name=value, ...}`.
    Fields(Vec<(String, Self)>),
}

impl Call {
    /// The descriptor that the call returns, by which the script calls it.
    pub fn descriptor(&self) -> Option<i64> {
        match self.result {
            Expected::Number(number) if number >= 0 => Some(number),
            _ => None,
        }
    }

    /// Argument `n` as a number; a list of one counts as its element.
    pub fn number(&self, n: usize) -> Option<i64> {
        match self.arguments.get(n)? {
            Argument::Number(number) => Some(*number),
            Argument::List(list) => match list.as_slice() {
                [Argument::Number(number)] => Some(*number),
                _ => None,
            },
            _ => None,
        }
    }

    /// Argument `n` as names.
    pub fn names(&self, n: usize) -> Vec<&str> {
        match self.arguments.get(n) {
            Some(Argument::Names(names)) => names.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Argument `n` as its only name.
    pub fn name(&self, n: usize) -> Option<&str> {
        match self.names(n).as_slice() {
            [name] => Some(*name),
            _ => None,
        }
    }

    /// Argument `n` as text.
    pub fn text(&self, n: usize) -> Option<&str> {
        match self.arguments.get(n)? {
            Argument::Text(text) => Some(text),
            Argument::List(list) => match list.as_slice() {
                [Argument::Text(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }
}
