//! Two routers with several paths between them.

use units::Span;

/// Two routers, each of which sends what goes to the other one over one of several paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Numbers of the routers.
    pub ends: [usize; 2],
    /// A node of each path, in the order of preference.
    pub via: Vec<usize>,
    /// By router and path, the destination of what it sends on the path: an address of the other
    /// router.
    pub towards: [Vec<usize>; 2],
    /// The rule by which packets move to another path.
    pub rule: SwitchRule,
}

/// The rule by which packets move to another path.
#[derive(Clone, Debug, PartialEq)]
pub enum SwitchRule {
    /// At known times.
    Times {
        /// In the order of time, but for those that repeat.
        moves: Vec<Move>,
        /// How much later the second router moves.
        lag: Span,
    },
    /// By the outages of links.
    Outages {
        /// Time until an outage is noticed.
        delay: Span,
        /// Time without an outage until a path is used again.
        hold: Span,
    },
    /// By Control packets of BFD.
    Bfd {
        /// Time between two of them.
        interval: Span,
        /// Number of intervals without one after which a session is down.
        multiplier: u8,
        /// Time for which a session must be up before its path is used again.
        hold: Span,
    },
}

/// A move at a known time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Its time.
    pub at: Span,
    /// Its period; `None` happens once.
    pub every: Option<Span>,
    /// Number of the path.
    pub path: usize,
}
