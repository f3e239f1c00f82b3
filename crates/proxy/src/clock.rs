//! The real clock, counted from the start of the process.

use std::time::{Duration, Instant, SystemTime};

use units::{Span, Time};

/// The monotonic clock of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// Starts at zero.
    #[expect(clippy::disallowed_methods, reason = "the daemon runs in real time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub(crate) fn now(self) -> Duration {
        self.0.elapsed()
    }
}

/// A time of the clock for state machines.
pub(crate) fn time(now: Duration) -> Time {
    Time::ZERO + Span::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// Seconds since 1970, for lines of the log.
#[expect(clippy::disallowed_methods, reason = "lines of a log have the time of day")]
pub(crate) fn time_of_day() -> f64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    time.map_or(0.0, |time| time.as_secs_f64())
}

const DAY: i64 = 86_400;
/// Days of 400 years, after which the calendar repeats.
const ERA: i64 = 146_097;

/// Seconds since 1970 as people read them: UTC as in RFC 3339, such as `2026-11-27T10:26:59.123Z`.
pub(crate) fn utc(seconds: f64) -> String {
    let milliseconds = (seconds * 1e3).round() as i64;
    let (seconds, fraction) = (milliseconds.div_euclid(1000), milliseconds.rem_euclid(1000));
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

/// Year, month and day of a number of days since 1970-01-01 in the Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last of its year. Months from March
/// have 153 days in five of them.
fn date(days: i64) -> (i64, i64, i64) {
    // From 0000-03-01.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / (ERA - 1)) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (400 * era + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_in_utc() {
        // `date --utc --date=@SECONDS +%FT%T.%3NZ`
        let known = [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (951_782_399.999, "2000-02-28T23:59:59.999Z"),
            (951_782_400.0, "2000-02-29T00:00:00.000Z"),
            (1_764_239_219.123_4, "2025-11-27T10:26:59.123Z"),
            (1_772_323_199.999_9, "2026-03-01T00:00:00.000Z"),
            (4_107_542_400.0, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, text) in known {
            assert_eq!(utc(seconds), text);
        }
    }

    #[test]
    fn each_day_follows_the_one_before() {
        let mut last = date(-ERA);
        for days in (1 - ERA)..=ERA {
            let (year, month, day) = date(days);
            let next_day = (last.0, last.1, last.2 + 1);
            let next_month = (last.0, last.1 + 1, 1);
            let next_year = (last.0 + 1, 1, 1);
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let february = 28 + i64::from(is_leap);
            let length = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            let months = usize::try_from(last.1 - 1).unwrap_or(0);
            let follows = if last.2 < length[months] {
                next_day
            } else if last.1 < 12 {
                next_month
            } else {
                next_year
            };
            assert_eq!((year, month, day), follows);
            last = follows;
        }
        assert_eq!(date(0), (1970, 1, 1));
    }
}
