//! Names, and words that stand in place of a value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! word {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        #[schemars(inline)]
        pub(crate) enum $name {
            $name,
        }
    };
}

word!(Unlimited);
word!(Perfect);
word!(Off);
word!(Linux);
word!(Hold);
word!(Interpolate);
word!(Unchecked);

/// Forms of ECN that are neither `true` nor `false`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum EcnForm {
    Accurate,
    Passive,
}

/// No such mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum Without {
    #[serde(rename = "none")]
    None,
}

/// Time of the events of links in different runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Phase {
    /// As written, in every run.
    #[default]
    Fixed,
    /// Later, by a time that depends on the seed.
    Random,
}

/// The name of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("x-format" = "path", "examples" = ["fade.csv"]))]
pub(crate) struct FileName(pub String);

/// A name of letters, digits, `-`, `_` and `.`: it becomes part of file names and of interface
/// names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("x-format" = "name", "maxLength" = 64))]
pub(crate) struct Name(pub String);
