//! The nearest valid name, and the unit that was probably meant.

use units::{Bytes, Rate, Span};

/// The one of `names` that `name` is most likely a slip of.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let name = plain(name);
    names
        .into_iter()
        .map(|candidate| (distance(&name, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of slips between two names; one name that begins the other is one slip.
fn distance(name: &str, candidate: &str) -> usize {
    let begins = name.len() >= 3 && candidate.starts_with(name)
        || candidate.len() >= 3 && name.starts_with(candidate);
    let slips = strsim::damerau_levenshtein(name, candidate);
    if begins { slips.min(1) } else { slips }
}

/// What people write for a unit, in lower case, and the unit.
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
    fn a_slip_finds_its_name() {
        let names = ["between", "rate", "delay", "queue", "overhead"];
        assert_eq!(nearest("dealy", names), Some("delay"));
        assert_eq!(nearest("Delay", names), Some("delay"));
        assert_eq!(nearest("overhed", names), Some("overhead"));
        assert_eq!(nearest("colour", names), None);
    }

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
