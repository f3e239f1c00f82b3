//! What can go wrong, in words for the one who typed the command.

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was asked for cannot be.
    #[error("{0}")]
    Input(String),
    /// The machine lacks something.
    #[error("{0}")]
    Machine(String),
    /// The kernel refused.
    #[error("{0}")]
    Kernel(String),
}

impl Error {
    /// The kernel refused `what`.
    pub(crate) fn refused(what: impl std::fmt::Display, reason: impl std::fmt::Display) -> Self {
        Self::Kernel(format!("{what}: {reason}"))
    }
}

/// The nearest of `names`, or all of them when none is near.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    let near = names
        .iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= known.len().max(name.len()) / 2);
    match near {
        Some((_, known)) => format!("did you mean {known:?}?"),
        None if names.is_empty() => "it has none".to_owned(),
        None => format!("there are {}", names.join(", ")),
    }
}
