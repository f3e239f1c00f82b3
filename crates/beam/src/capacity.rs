//! Capacity of a forward carrier in closed form, for terminals with different modulations and
//! codes.
//!
//! With given shares of the bytes, a byte costs its terminal's symbols, and capacity is the
//! harmonic mean of the efficiencies: C = Rs / sum(w / eta). With given shares of the airtime, it
//! is the arithmetic one: C = Rs sum(a eta). Static links with proportional fairness have equal
//! airtime.

/// Capacity in bit/s of a carrier of `symbol_rate` symbols per second, for terminals that get these
/// shares of the bytes: (share, efficiency in bits per symbol).
pub fn by_bytes(symbol_rate: f64, shares: &[(f64, f64)]) -> f64 {
    let total: f64 = shares.iter().map(|(share, _)| share).sum();
    let symbols: f64 = shares.iter().map(|(share, efficiency)| share / efficiency).sum();
    symbol_rate * total / symbols
}

/// The same for terminals that get these shares of the airtime.
pub fn by_airtime(symbol_rate: f64, shares: &[(f64, f64)]) -> f64 {
    let total: f64 = shares.iter().map(|(share, _)| share).sum();
    let bits: f64 = shares.iter().map(|(share, efficiency)| share * efficiency).sum();
    symbol_rate * bits / total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 125 MHz with a roll-off of 0.2; 20 % of the terminals at QPSK 1/2, 50 % at 8PSK 2/3 and 30 %
    /// at 16APSK 3/4, in normal frames with pilots.
    #[test]
    fn rain_costs_all_or_those_in_it() {
        let mix = [(0.2, 0.9653), (0.5, 1.9357), (0.3, 2.8963)];
        let rate = 125e6 / 1.2;
        assert!((by_bytes(rate, &mix) - 183.0e6).abs() < 0.05e6);
        assert!((by_airtime(rate, &mix) - 211.4e6).abs() < 0.05e6);
        // 20 % of the bytes take 36.4 % of the carrier.
        let share = 0.2 / 0.9653 * by_bytes(rate, &mix) / rate;
        assert!((share - 0.364).abs() < 0.0005, "{share}");
    }
}
