//! Mechanisms on the path, for `bentpipe path` and its page.
//!
//! Each mechanism describes itself in the file that implements it. Its parameters are those of the
//! schema, so they are not listed here.

/// A mechanism that a scenario can put on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanism {
    /// Its name in scenarios.
    pub name: &'static str,
    /// The key of a scenario that takes it.
    pub key: &'static str,
    /// Kind of mechanism.
    pub kind: &'static str,
    /// The paper or RFC that defines it.
    pub source: &'static str,
    /// Provenance.
    pub status: Provenance,
    /// When it does more harm than good.
    pub hurts: &'static str,
}

/// How sure the rules of a mechanism are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// They are those of the source.
    Published,
    /// They are those of an implementation, which its source names.
    FromImplementation,
    /// Some rules are our choice, because the source does not give them.
    Reconstructed,
}

impl Provenance {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::FromImplementation => "from an implementation",
            Self::Reconstructed => "reconstructed",
        }
    }
}

/// Lists the mechanisms of an enum: each variant with its [`Mechanism`]. Gives the enum `all`,
/// `name` and `about`.
#[macro_export]
macro_rules! list_of_mechanisms {
    ($kind:ident { $($variant:ident => $about:expr),+ $(,)? }) => {
        impl $kind {
            /// All of them, with the defaults of their sources.
            pub fn all() -> [Self; [$(stringify!($variant)),+].len()] {
                [$(Self::$variant(Default::default())),+]
            }

            /// Its name in scenarios.
            pub fn name(&self) -> &'static str {
                self.about().name
            }

            /// Its description.
            pub fn about(&self) -> &'static $crate::Mechanism {
                match self {
                    $(Self::$variant(_) => &$about,)+
                }
            }
        }
    };
}
