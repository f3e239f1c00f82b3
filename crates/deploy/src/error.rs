//! Errors of loading controllers, with messages for users of the command line.

use language::near;

/// An error of loading, changing or unloading a controller.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Invalid input.
    #[error("{0}")]
    Input(String),
    /// The machine lacks something.
    #[error("{0}")]
    Machine(String),
    /// The kernel returned an error.
    #[error("{0}")]
    Kernel(String),
}

impl Error {
    /// The machine lacks the things of this list.
    pub(crate) fn lacking(missing: &[String]) -> Self {
        Self::Machine(format!(
            "controllers cannot be loaded on this machine; missing: {}",
            missing.join("; ")
        ))
    }

    /// The kernel rejected `what`.
    #[cfg(target_os = "linux")]
    pub(crate) fn refused(what: impl std::fmt::Display, reason: impl std::fmt::Display) -> Self {
        Self::Kernel(format!("{what}: {reason}"))
    }
}

/// A hint with the nearest of `names`, or with all of them if none is near.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    match near::nearest(name, names.iter().copied(), |known| format!("{known:?}")) {
        Some(known) => format!("did you mean {known}?"),
        None if names.is_empty() => "it has none".to_owned(),
        None => format!("valid names: {}", names.join(", ")),
    }
}
