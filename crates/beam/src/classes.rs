//! Classes of traffic: the order in which packets of several classes are served.
//!
//! Strict: a class is served if all classes before it are empty. Weighted: classes take turns, in
//! the measure of their weights. A class that has spent more than its credit in a turn has less in
//! the next one (surplus round robin), so that the cost of a packet need not be known before.

/// Cost of the packets that a class of weight 1 sends in its turn: a packet of usual length, in
/// bytes or in the measure of the scheduler.
const QUANTUM: f64 = 1500.0;

/// How classes share a carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classes {
    /// A number of classes, the first one first.
    Strict(usize),
    /// Classes with weights.
    Weighted(Vec<u32>),
}

impl Classes {
    /// Number of classes.
    pub fn len(&self) -> usize {
        match self {
            Self::Strict(number) => *number,
            Self::Weighted(weights) => weights.len(),
        }
    }

    /// Returns true if there are none, which no beam has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Weight of a class.
    pub fn weight(&self, class: usize) -> u32 {
        match self {
            Self::Strict(_) => 1,
            Self::Weighted(weights) => weights[class],
        }
    }
}

impl Default for Classes {
    fn default() -> Self {
        Self::Strict(1)
    }
}

/// The turn of classes with weights.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassTurns {
    current: usize,
    credits: Vec<f64>,
}

impl ClassTurns {
    /// The class whose turn it is; `None` if no class has packets. `has` says which have.
    pub fn next(&mut self, classes: &Classes, mut has: impl FnMut(usize) -> bool) -> Option<usize> {
        let Classes::Weighted(weights) = classes else {
            return (0..classes.len()).find(|class| has(*class));
        };
        self.credits.resize(weights.len(), 0.0);
        let waiting: Vec<bool> = (0..weights.len()).map(&mut has).collect();
        if !waiting.contains(&true) {
            return None;
        }
        loop {
            let class = self.current;
            if waiting[class] && self.credits[class] > 0.0 {
                return Some(class);
            }
            // A class without packets keeps no credit. Its debt stays.
            if !waiting[class] {
                self.credits[class] = self.credits[class].min(0.0);
            }
            self.current = (class + 1) % weights.len();
            if waiting[self.current] {
                self.credits[self.current] += QUANTUM * f64::from(weights[self.current]);
            }
        }
    }

    /// A class has spent `cost`.
    pub fn spend(&mut self, class: usize, cost: f64) {
        if let Some(credit) = self.credits.get_mut(class) {
            *credit -= cost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs that classes have spent after `turns`, with packets of these costs always waiting.
    fn spent(classes: &Classes, costs: &[f64], turns: usize) -> Vec<f64> {
        let mut spent = vec![0.0; costs.len()];
        let mut order = ClassTurns::default();
        for _ in 0..turns {
            let class = order.next(classes, |class| costs[class] > 0.0).unwrap();
            order.spend(class, costs[class]);
            spent[class] += costs[class];
        }
        spent
    }

    #[test]
    fn strict_classes_come_in_their_order() {
        assert_eq!(spent(&Classes::Strict(3), &[0.0, 10.0, 20.0], 5), [0.0, 50.0, 0.0]);
    }

    #[test]
    fn weighted_classes_share_in_the_measure_of_their_weights_whatever_the_packets() {
        let found = spent(&Classes::Weighted(vec![3, 1]), &[200.0, 1500.0], 100_000);
        assert!((found[0] / found[1] / 3.0 - 1.0).abs() < 2e-3, "{found:?}");
        assert_eq!(spent(&Classes::Weighted(vec![3, 1]), &[0.0, 1500.0], 9), [0.0, 13_500.0]);
    }

    #[test]
    fn nothing_waits() {
        for classes in [Classes::Strict(2), Classes::Weighted(vec![1, 2])] {
            assert_eq!(ClassTurns::default().next(&classes, |_| false), None);
        }
    }
}
