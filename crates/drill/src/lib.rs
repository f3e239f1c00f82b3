//! Scripts in the language of packetdrill (Cardwell and others, USENIX ATC 2013), written anew from
//! its documented syntax: [`parse`] reads a script, [`play`] runs it against a [`Host`].
//!
//! A host is a TCP whose peer, application and clock the script is. There are two: the simulated
//! TCP in virtual time (`crates/tcp/tests/drill`) and the TCP of this machine's kernel behind a TUN
//! device (`crates/testbed/tests/drill`). Both see the same events and the same comparison.
//!
//! Syntax that is not understood is an error with file and line, and never skipped. Three things
//! are not compared, because the simulated TCP has no bytes: the order of TCP options and their
//! padding, the TSval of segments that the host sends (packetdrill does not compare it either by
//! default), and the boundaries within a row of full segments that the script writes as one.

mod error;
mod expression;
mod host;
mod mutation;
mod packet;
mod parser;
mod player;
pub mod random;
mod script;
mod shell;

pub use error::Failure;
pub use host::{Host, Live, Outcome};
pub use mutation::{Mutant, mutants};
pub use packet::{Ecn, Flags, Options, Packet};
pub use parser::parse;
pub use player::{Rigour, play};
pub use script::{Action, Argument, Call, Event, Expected, Follows, Script, When};
pub use shell::{Setting, settings};
