//! Token buckets and cells of a direction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::words::Without;

/// A token bucket, or `"none"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Bucket {
    Without(Without),
    Table(link::TokenBucket),
}

impl Bucket {
    /// The bucket, if there is one.
    pub fn resolve(&self) -> Option<link::TokenBucket> {
        match self {
            Self::Without(_) => None,
            Self::Table(bucket) => Some(*bucket),
        }
    }
}

/// Cells, or `"none"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Cells {
    Without(Without),
    Table(CellBytes),
}

/// Bytes of a cell.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct CellBytes {
    /// Bytes of packets in a cell; 48 with ATM.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "64KiB"))]
    pub payload: Bytes,
    /// Bytes of a cell apart from them; 5 with ATM.
    #[schemars(extend("x-minimum" = "0B", "x-maximum" = "1KiB"))]
    pub header: Bytes,
}
