//! The congestion window and its exact arithmetic.

/// The whole part of a number of bytes or segments; zero of one below zero, and `u64::MAX` of one
/// that no counter holds. What is left is less than a byte.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the casts of such numbers, in one place: they saturate"
)]
#[inline]
pub(crate) const fn whole(number: f64) -> u64 {
    number as u64
}

/// Parameters of a connection for a new controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Sender maximum segment size (SMSS) in bytes: the payload of a full segment.
    pub mss: u32,
    /// Initial window in bytes (RFC 5681 section 3.1, RFC 6928).
    pub initial_window: u64,
    /// Initial slow start threshold in bytes; "arbitrarily high" in RFC 5681 section 3.1.
    pub initial_ssthresh: u64,
    /// Appropriate byte counting limit L in segments per ACK (RFC 3465 section 2.1); 1 is the
    /// rule of RFC 5681 equation 2.
    pub byte_counting: u32,
}

/// cwnd and ssthresh in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes.
    pub ssthresh: u64,
    /// Sender maximum segment size in bytes.
    pub mss: u64,
    /// Window after set-up and after an idle period, in bytes.
    pub initial: u64,
    /// Segments leave at a rate, and not in bursts of what an ACK lets out.
    pub paced: bool,
    byte_counting: u64,
    /// Slow start follows a retransmission timeout.
    after_timeout: bool,
    remainder: u64,
}

impl Window {
    /// The window of a new connection.
    pub fn new(settings: &Settings) -> Self {
        Self {
            cwnd: settings.initial_window,
            ssthresh: settings.initial_ssthresh,
            mss: u64::from(settings.mss),
            initial: settings.initial_window,
            paced: false,
            byte_counting: u64::from(settings.byte_counting),
            after_timeout: false,
            remainder: 0,
        }
    }

    /// The retransmission timer expired. In the following slow start L is 1, because a large ACK
    /// covers segments that arrived before (RFC 3465 section 2.3).
    pub fn count_singly_after_timeout(&mut self) {
        self.after_timeout = true;
    }

    /// Both ends have agreed on a segment size; the initial window keeps its number of segments.
    pub fn agree_on_mss(&mut self, mss: u64) {
        if self.mss != mss {
            self.initial = self.initial / self.mss * mss;
            self.cwnd = self.initial;
            self.mss = mss;
        }
    }

    /// The path takes segments of another size than before. With smaller ones, cwnd and ssthresh
    /// keep their numbers of segments, as in Linux (`tcp_simple_retransmit`). With larger ones cwnd
    /// keeps its bytes, as far as they are whole segments (`tcp_mtup_probe_success`), and ssthresh
    /// too.
    pub fn change_mss(&mut self, mss: u64) {
        let before = std::mem::replace(&mut self.mss, mss);
        self.initial = self.initial / before * mss;
        if mss > before {
            self.cwnd = (self.cwnd / mss * mss).max(mss);
            return;
        }
        let smaller = |bytes: u64| {
            let bytes = u128::from(bytes) * u128::from(mss) / u128::from(before);
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        self.cwnd = smaller(self.cwnd).max(mss);
        // "Arbitrarily high" stays so.
        if self.ssthresh < u64::MAX {
            self.ssthresh = smaller(self.ssthresh);
        }
    }

    /// Below ssthresh the window grows exponentially (RFC 5681 section 3.1).
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The bytes that count for growth out of `acked` newly acknowledged ones: min(N, L * SMSS),
    /// RFC 3465 section 2.1; with L = 1 it is RFC 5681 equation 2.
    #[inline]
    pub fn counted(&self, acked: u64) -> u64 {
        let limit = if self.after_timeout { 1 } else { self.byte_counting };
        acked.min(limit * self.mss)
    }

    /// Adds `numerator / cwnd` bytes and keeps the remainder for the next call.
    ///
    /// Without the remainder `SMSS * SMSS / cwnd` is zero above SMSS^2 bytes, which on a GEO path
    /// is a mere 28 Mb/s, and the window freezes.
    #[inline]
    pub fn grow_by_fraction(&mut self, numerator: u64) {
        self.after_timeout = false;
        // Less than a byte of a larger window is less than a byte of this one.
        self.remainder = self.remainder.min(self.cwnd) + numerator;
        if self.remainder >= self.cwnd {
            let whole = self.remainder / self.cwnd;
            self.remainder -= whole * self.cwnd;
            self.cwnd += whole;
        }
    }

    /// Half the flight size, at least two segments (RFC 5681 equation 4).
    pub fn half(&self, flight: u64) -> u64 {
        (flight / 2).max(2 * self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_segments_keep_their_number_and_larger_ones_the_bytes() {
        let settings = Settings {
            mss: 1000,
            initial_window: 10_000,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let mut window = Window::new(&settings);
        window.cwnd = 20_500;
        window.change_mss(500);
        assert_eq!((window.cwnd, window.initial, window.ssthresh), (10_250, 5_000, u64::MAX));
        window.ssthresh = 6_000;
        window.change_mss(800);
        assert_eq!((window.cwnd, window.initial, window.ssthresh), (9_600, 8_000, 6_000));
        window.change_mss(400);
        assert_eq!((window.cwnd, window.ssthresh), (4_800, 3_000));
        window.cwnd = 400;
        window.change_mss(900);
        assert_eq!(window.cwnd, 900, "at least one");
    }

    #[test]
    fn what_was_left_of_a_large_window_adds_at_most_a_byte_to_a_small_one() {
        let mut window = Window::new(&Settings {
            mss: 1000,
            initial_window: 1_000_000,
            initial_ssthresh: 2000,
            byte_counting: 1,
        });
        window.grow_by_fraction(999_999);
        assert_eq!(window.cwnd, 1_000_000);
        window.cwnd = 1000;
        window.grow_by_fraction(0);
        assert_eq!(window.cwnd, 1001);
    }
}
