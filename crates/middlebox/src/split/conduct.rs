//! Conduct of a split connection when an end stalls, closes, fails or refuses: one table of tests,
//! which both backends run. Only tests use it.

use super::Accept;

/// An end of the connection beyond the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end that opens the connection.
    Client,
    /// The end that accepts it.
    Server,
}

impl End {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The end beyond the proxy.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A step of a case: what an end does, or what it must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The end writes bytes.
    Write(End, u64),
    /// The end has nothing more to write (FIN).
    Close(End),
    /// The end resets its connection.
    Reset(End),
    /// The end, which had not read, reads from now on.
    Read(End),
    /// Time for some round trips passes.
    Pass,
    /// All that the proxy and the far end take was acknowledged to the end: no more than their
    /// buffers hold, and it stays so.
    Stopped(End),
    /// The end has received this number of bytes in all, within some time.
    Receives(End, u64),
    /// The end has seen the end of the other's bytes.
    Ended(End),
    /// The end has not seen it.
    Open(End),
    /// The end has seen a reset, within some time.
    WasReset(End),
    /// The connection of the end was refused, within some time: it was never open.
    Refused(End),
}

/// A connection through a proxy, and what happens on it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Rule of conduct.
    pub name: &'static str,
    /// When the proxy accepts.
    pub accept: Accept,
    /// True if a server listens. Where none does, its host refuses.
    pub listens: bool,
    /// True if the server reads from the start.
    pub reads: bool,
    /// The steps.
    pub steps: &'static [Step],
}

use End::{Client, Server};
use Step::{Close, Ended, Open, Pass, Read, Receives, Refused, Reset, Stopped, WasReset, Write};

const fn case(name: &'static str, steps: &'static [Step]) -> Case {
    Case { name, accept: Accept::Early, listens: true, reads: true, steps }
}

/// The table. Cases with another `accept` than "early" are for proxies that can hold back a SYN.
pub const CASES: [Case; 9] = [
    Case {
        reads: false,
        ..case(
            "a stalled server closes the window of the client within the relay buffer",
            &[Write(Client, 6_000_000), Stopped(Client), Read(Server), Receives(Server, 6_000_000)],
        )
    },
    case(
        "a FIN of the client leaves the data of the server alone",
        &[
            Write(Client, 1000),
            Close(Client),
            Receives(Server, 1000),
            Ended(Server),
            Write(Server, 500_000),
            Receives(Client, 500_000),
            Open(Client),
            Close(Server),
            Ended(Client),
        ],
    ),
    case(
        "a FIN of the server leaves the data of the client alone",
        &[
            Write(Server, 1000),
            Close(Server),
            Receives(Client, 1000),
            Ended(Client),
            Write(Client, 500_000),
            Receives(Server, 500_000),
            Open(Server),
            Close(Client),
            Ended(Server),
        ],
    ),
    case(
        "a reset of the client in the middle of the relay is one at the server",
        &[
            Write(Client, 4_000_000),
            Write(Server, 4_000_000),
            Pass,
            Reset(Client),
            WasReset(Server),
        ],
    ),
    case(
        "a reset of the server in the middle of the relay is one at the client",
        &[
            Write(Client, 4_000_000),
            Write(Server, 4_000_000),
            Pass,
            Reset(Server),
            WasReset(Client),
        ],
    ),
    Case {
        listens: false,
        ..case(
            "a refused server is a reset at the client",
            &[Write(Client, 10_000), WasReset(Client)],
        )
    },
    Case {
        accept: Accept::Late,
        ..case(
            "a late answer lets both ends' bytes through",
            &[
                Write(Client, 300_000),
                Receives(Server, 300_000),
                Write(Server, 300_000),
                Receives(Client, 300_000),
                Close(Client),
                Ended(Server),
                Close(Server),
                Ended(Client),
            ],
        )
    },
    Case {
        accept: Accept::Late,
        listens: false,
        ..case("with a late answer a refused server looks refused", &[Refused(Client)])
    },
    Case {
        accept: Accept::EarlyIfKnown,
        listens: false,
        ..case("a server that nobody knows looks refused if it refuses", &[Refused(Client)])
    },
];
