//! Makes the ends of the connections of a flow, each with a seed of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::Config;
use crate::connection::Connection;

/// State that all connections of a flow share.
#[derive(Debug)]
pub struct Maker {
    config: Arc<Config>,
    /// Seed of the next end.
    seed: AtomicU64,
}

impl Maker {
    /// For a flow of a run with this seed. `flow` distinguishes the flows of the run.
    pub fn new(config: Arc<Config>, seed: u64, flow: u32) -> Self {
        let first = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (u64::from(flow) << 24);
        Self { config, seed: AtomicU64::new(first) }
    }

    /// The next end.
    pub fn end(&self) -> Connection {
        self.end_with(&self.config)
    }

    /// The next end, with settings of its own.
    pub fn end_with(&self, config: &Arc<Config>) -> Connection {
        Connection::new(config.clone(), self.seed.fetch_add(1, Ordering::Relaxed))
    }
}
