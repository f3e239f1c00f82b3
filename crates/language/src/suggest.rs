//! The nearest valid name, and the unit that was probably meant.

use crate::near;
use units::{Bytes, Rate, Span};

/// The names that `name` is most likely a slip of, in quotation marks.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    near::nearest(name, names, |name| format!("{name:?}"))
}

/// The keys that `key` is most likely a slip of, in backquotes.
pub(crate) fn nearest_key<'a>(
    key: &str,
    keys: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    near::nearest(key, keys, |key| format!("`{key}`"))
}

/// Usual spellings of a unit, in lower case, and the unit.
type Habits = &'static [(&'static [&'static str], &'static str)];

const RATES: Habits = &[
    (&["bps", "b/s", "bit", "bits/s"], "bit/s"),
    (&["k", "kbps", "kb/s", "kbit", "kbits/s", "kbits"], "kbit/s"),
    (&["m", "mbps", "mb/s", "mbit", "mbits/s", "mbits"], "Mbit/s"),
    (&["g", "gbps", "gb/s", "gbit", "gbits/s", "gbits"], "Gbit/s"),
];

const TIMES: Habits = &[
    (&["nsec"], "ns"),
    (&["µs", "μs", "usec"], "us"),
    (&["msec", "msecs", "millis", "milliseconds"], "ms"),
    (&["s", "sec", "secs", "second", "seconds"], "s"),
    (&["m", "mins", "minute", "minutes"], "min"),
    (&["hr", "hrs", "hour", "hours"], "h"),
];

const SIZES: Habits = &[
    (&["b", "byte", "bytes"], "B"),
    (&["k", "kb", "kbyte", "kbytes"], "kB"),
    (&["m", "mb", "mbyte", "mbytes"], "MB"),
    (&["g", "gb", "gbyte", "gbytes"], "GB"),
    (&["ki", "kib"], "KiB"),
    (&["mi", "mib"], "MiB"),
    (&["gi", "gib"], "GiB"),
];

/// `text` with the unit that was probably meant, if it then is a quantity of this format.
pub(crate) fn quantity(format: &str, text: &str) -> Option<String> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = (&text[..split], text[split..].trim());
    let (habits, valid): (Habits, fn(&str) -> bool) = match format {
        "rate" => (RATES, |text| text.parse::<Rate>().is_ok()),
        "time" => (TIMES, |text| text.parse::<Span>().is_ok()),
        "size" => (SIZES, |text| text.parse::<Bytes>().is_ok()),
        _ => return None,
    };
    let lower = unit.to_lowercase();
    let meant = habits.iter().find(|(habit, _)| habit.contains(&lower.as_str()))?.1;
    let corrected = format!("{number}{meant}");
    (valid(&corrected) && !valid(text)).then(|| format!("{corrected:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_habit_finds_its_unit() {
        assert_eq!(quantity("rate", "2mbps").as_deref(), Some("\"2Mbit/s\""));
        assert_eq!(quantity("time", "10 sec").as_deref(), Some("\"10s\""));
        assert_eq!(quantity("size", "64KB").as_deref(), Some("\"64kB\""));
        assert_eq!(quantity("rate", "-2mbps"), None);
        assert_eq!(quantity("rate", "2parsecs"), None);
        assert_eq!(quantity("time", "0s"), None);
    }
}
