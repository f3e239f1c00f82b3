//! Many runs of the simulator on the threads of this machine, and numbers out of each.
//!
//! - [`Job`] is a scenario and a seed; [`run`] runs one and measures its wall time.
//! - [`run_each`] runs many on a pool of threads and hands over what the caller keeps of each;
//!   [`run_all`] keeps every recording, in the order of the jobs.
//! - [`Quantity`] is one number of a recording, for studies that keep numbers and not runs.
//!
//! If nothing but packet loss depends on the seed and no packet is lost, runs with other seeds are
//! copies of the first one.
//!
//! Results do not depend on the number of threads. Jobs start in their order, so a cancelled batch
//! keeps its first part.

mod pool;
mod quantity;
mod reuse;
mod selection;

pub use pool::{Job, run, run_all, run_each, totals_only, worker_count};
pub use quantity::{Aggregate, Quantity, Source, UnknownAggregate, is_called};
pub use selection::{
    UnknownQuantity, number_columns, tables_of_applications, tables_of_directions,
};
