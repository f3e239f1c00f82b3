//! Errors of scripts.

/// Why a script did not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Syntax that is not understood.
    #[error("{path}:{line}: not understood: {what}")]
    Syntax {
        /// The script.
        path: String,
        /// Its line, counted from 1.
        line: usize,
        /// Expectation or finding.
        what: String,
    },
    /// The host has nothing that the script asks for.
    #[error("{path}:{line}: not supported: {what}")]
    Unsupported {
        /// The script.
        path: String,
        /// Its line, counted from 1.
        line: usize,
        /// The call, option or setting.
        what: String,
    },
    /// The host does something else than the script expects.
    #[error("{path}:{line}: {what}")]
    Differs {
        /// The script.
        path: String,
        /// Its line, counted from 1.
        line: usize,
        /// Expected and found.
        what: String,
    },
}

impl Failure {
    /// The line of the script.
    pub fn line(&self) -> usize {
        match self {
            Self::Syntax { line, .. } | Self::Unsupported { line, .. } => *line,
            Self::Differs { line, .. } => *line,
        }
    }

    /// The error, without file and line.
    pub fn what(&self) -> &str {
        match self {
            Self::Syntax { what, .. } | Self::Unsupported { what, .. } => what,
            Self::Differs { what, .. } => what,
        }
    }
}
