//! ECN marking: a queue marks packets while its average length is above a threshold.
//!
//! The average is the exponentially weighted average of RED (Floyd and Jacobson, 1993), updated at
//! each arrival. Above the threshold every ECN-capable packet is marked, as by the routers of
//! TCP-Jersey (Xu, Tian, Ansari, 2004). With a weight of 1 it is the current queue.
//!
//! Decisions:
//! - A queue marks by its average at arrivals, apart from its limit: `ecn_marking` works with every
//!   limit, and the reference engine averages the same numbers.

/// ECN marking of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct Marking {
    /// Average queue in packets above which all arriving packets are marked.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub packets: f64,
    /// Weight of the current queue in the average at each arrival (RED); 1 is the current queue
    /// without averaging.
    #[cfg_attr(
        feature = "schema",
        serde(default = "Marking::default_weight"),
        schemars(range(max = 1), extend("exclusiveMinimum" = 0))
    )]
    pub weight: f64,
}

#[cfg(feature = "schema")]
impl Marking {
    /// The weight of RED (Floyd and Jacobson, 1993).
    fn default_weight() -> f64 {
        0.002
    }
}

/// The average queue of a link.
#[derive(Clone, Copy, Debug)]
pub struct Marker {
    marking: Marking,
    average: f64,
}

impl Marker {
    /// A marker of an empty queue.
    pub fn new(marking: Marking) -> Self {
        Self { marking, average: 0.0 }
    }

    /// A packet arrives while others wait. Returns whether it is to be marked.
    pub fn on_arrival(&mut self, waiting: usize) -> bool {
        self.average += self.marking.weight * (waiting as f64 - self.average);
        self.marks()
    }

    /// Returns true if the packet that arrived last is to be marked.
    pub fn marks(&self) -> bool {
        self.average > self.marking.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_not_marked_and_a_standing_queue_is() {
        let mut marker = Marker::new(Marking { packets: 10.0, weight: 0.1 });
        assert!((0..5).all(|_| !marker.on_arrival(20)));
        assert!((0..5).any(|_| marker.on_arrival(20)));
    }

    #[test]
    fn with_a_weight_of_one_the_queue_itself_decides() {
        let mut marker = Marker::new(Marking { packets: 10.0, weight: 1.0 });
        assert!(!marker.on_arrival(10));
        assert!(marker.on_arrival(11));
        assert!(!marker.on_arrival(0));
    }
}
