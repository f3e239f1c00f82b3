//! The needs of a controller, compared with the reports of quinn 0.11 to congestion controllers.
//!
//! The comparison asks the controller's own methods, so a new controller needs no entry here.

use congestion::{Controller, Needs, Settings, Specification, UnknownController};

/// A service that quinn does not have, and without which a controller is another algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Routers on the way write a rate into the headers of packets.
    RouterFeedback,
    /// Packets of low priority probe for unused capacity.
    Probes,
    /// The number of packets that arrived with an ECN mark.
    MarkCounts,
}

impl Missing {
    /// The method or event that quinn's interface would need.
    pub fn reason(self) -> &'static str {
        match self {
            Self::RouterFeedback => {
                "it needs feedback that routers write into packets, and quinn shows controllers no packets"
            }
            Self::Probes => "it sends packets of low priority, and quinn has no method for that",
            Self::MarkCounts => {
                "it needs the number of ECN marks, and on_congestion_event of quinn does not report it"
            }
        }
    }
}

/// A service that quinn has in another form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approximation {
    /// The controller sets a pacing rate. quinn paces at 1.25 cwnd per smoothed round-trip time, so
    /// the rate bounds the window instead.
    Pacing,
    /// The controller needs reports of data that arrived twice. QUIC has none, so it sees none.
    DuplicateReports,
}

impl Approximation {
    /// Description of the difference.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Pacing => {
                "quinn takes no pacing rate: the window is at most the rate times the smoothed RTT"
            }
            Self::DuplicateReports => {
                "QUIC does not report needless retransmissions: no reduction is taken back"
            }
        }
    }
}

/// How quinn can carry a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// With all that it needs.
    Whole,
    /// With these differences.
    Approximated(Vec<Approximation>),
    /// Not at all.
    Impossible(Missing),
}

/// A controller cannot run over quinn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    /// No controller has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownController),
    /// quinn lacks what it needs.
    #[error("{name} does not run over quinn: {}", missing.reason())]
    Missing {
        /// The controller.
        name: &'static str,
        /// The report that quinn lacks.
        missing: Missing,
    },
}

/// How quinn can carry the controller `specification`.
pub fn carriage(specification: &Specification) -> Carriage {
    let settings = Settings {
        mss: 1200,
        initial_window: 12_000,
        initial_ssthresh: u64::MAX,
        byte_counting: 1,
    };
    let needs = specification.build(&settings).needs();
    if let Some(missing) = missing(&needs) {
        return Carriage::Impossible(missing);
    }
    let mut approximations = Vec::new();
    if needs.pacing {
        approximations.push(Approximation::Pacing);
    }
    if needs.duplicate_reports {
        approximations.push(Approximation::DuplicateReports);
    }
    if approximations.is_empty() { Carriage::Whole } else { Carriage::Approximated(approximations) }
}

fn missing(needs: &Needs) -> Option<Missing> {
    if needs.router_feedback.is_some() {
        Some(Missing::RouterFeedback)
    } else if needs.probes {
        Some(Missing::Probes)
    } else if needs.marks.reports_each_mark() {
        Some(Missing::MarkCounts)
    } else {
        None
    }
}
