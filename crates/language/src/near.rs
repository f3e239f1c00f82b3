//! The valid names that a wrong name probably stands for.

/// Most names that are listed.
const MOST: usize = 4;
/// Fewest letters of a name that another one may contain.
const SHORTEST_PART: usize = 3;

/// The names that `name` probably stands for, at most four; none if all are far from it.
///
/// Letter case, `-`, `_` and spaces are ignored. The first of these that finds a name decides:
///
/// 1. names that are equal then,
/// 2. names that begin with `name`, then names that contain it. A name of these at an edit distance
///    of one stands alone,
/// 3. the version that is nearest by its numbers, if both end with one: `linux-6.12` for
///    `linux-6.10`,
/// 4. all names at the smallest edit distance, those of the same length first. A name that is the
///    beginning of `name`, such as `bbr` for `bbr2`, has a distance of one.
pub fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = plain(name);
    let known: Vec<_> = names.into_iter().map(|known| (plain(known), known)).collect();
    let of = |is_meant: &dyn Fn(&str) -> bool| -> Vec<&'a str> {
        let found = known.iter().filter(|(known, _)| is_meant(known));
        found.map(|(_, known)| *known).collect()
    };
    let mut found = of(&|known| known == wanted);
    if found.is_empty() && wanted.chars().count() > 1 {
        found = of(&|known| known.starts_with(&wanted));
        if wanted.chars().count() >= SHORTEST_PART {
            let starts = |known: &str| known.starts_with(&wanted);
            found.extend(of(&|known| known.contains(&wanted) && !starts(known)));
        }
        let one_slip = |known: &&str| strsim::damerau_levenshtein(&wanted, &plain(known)) == 1;
        if let Some(nearest) = found.iter().copied().find(|known| one_slip(known)) {
            found = vec![nearest];
        }
    }
    if found.is_empty() {
        found.extend(nearest_version(name, known.iter().map(|(_, known)| *known)));
    }
    if found.is_empty() {
        let distances = known.iter().map(|(known, _)| slips(&wanted, known));
        let least = distances.flatten().min();
        found = of(&|known| least.is_some() && slips(&wanted, known) == least);
        let length = |known: &&str| plain(known).chars().count().abs_diff(wanted.chars().count());
        found.sort_by_key(length);
    }
    let mut seen = Vec::new();
    found.retain(|known| !seen.contains(known) && (seen.push(*known), true).1);
    found.truncate(MOST);
    found
}

/// The nearest names as the end of an error message: `"a"`, or `"a", "b" or "c"`; `None` without
/// any. `quote` writes a name.
pub fn nearest<'a>(
    name: &str,
    names: impl IntoIterator<Item = &'a str>,
    quote: impl Fn(&str) -> String,
) -> Option<String> {
    let found: Vec<_> = near(name, names).into_iter().map(quote).collect();
    match found.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        [first @ .., last] => Some(format!("{} or {last}", first.join(", "))),
    }
}

/// The name with the same beginning and the nearest version: the next older or the next newer one,
/// which differ from it in the first number that is another. Of two that are equally far, the newer
/// one.
fn nearest_version<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (stem, wanted) = version(name)?;
    let alike = names.filter_map(|known| {
        let (other, version) = version(known)?;
        other.eq_ignore_ascii_case(stem).then_some((version, known))
    });
    let (older, newer): (Vec<_>, Vec<_>) = alike.partition(|(version, _)| *version < wanted);
    let neighbours = [newer.into_iter().min(), older.into_iter().max()].into_iter().flatten();
    let distance = |(version, _): &(Vec<u64>, &str)| -> Option<(usize, u64)> {
        let parts = version.iter().zip(&wanted).map(|(a, b)| a.abs_diff(*b));
        let (place, apart) = parts.enumerate().find(|(_, apart)| *apart > 0)?;
        // A difference in a later number is smaller.
        Some((usize::MAX - place, apart))
    };
    neighbours.min_by_key(distance).map(|(_, known)| known)
}

/// A name that ends with a version after a hyphen: its beginning, and the numbers.
fn version(name: &str) -> Option<(&str, Vec<u64>)> {
    let (stem, version) = name.rsplit_once('-')?;
    let numbers = version.split('.').map(|part| part.parse().ok());
    Some((stem, numbers.collect::<Option<_>>()?))
}

fn plain(text: &str) -> String {
    text.to_lowercase().replace(['-', '_', ' '], "")
}

/// The number of slips between two names without case and hyphens. `None` if there are too many:
/// more than one in names of three letters, more than two in names of four to eight, or more than a
/// third of the letters.
fn slips(name: &str, known: &str) -> Option<usize> {
    let is_longer = known.chars().count() >= SHORTEST_PART && name.starts_with(known);
    let slips = strsim::damerau_levenshtein(name, known);
    let slips = if is_longer { slips.min(1) } else { slips };
    let letters = known.chars().count();
    let most = if letters > 3 { (letters / 3).max(2) } else { 1 };
    (slips <= most).then_some(slips)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name() {
        let names = ["between", "rate", "delay", "queue", "overhead"];
        assert_eq!(near("dealy", names), ["delay"]);
        assert_eq!(near("Delay", names), ["delay"]);
        assert_eq!(near("overhed", names), ["overhead"]);
        assert!(near("colour", names).is_empty());
        assert_eq!(near("keep", ["kept", "per"]), ["kept"], "two slips in four letters");
        assert!(near("cab", ["bbr", "bic"]).is_empty());
    }

    #[test]
    fn a_beginning_comes_before_a_slip() {
        let links = ["geo-irtf", "geo-ka", "geo-ku", "geo-lossy", "leo", "meo"];
        assert_eq!(near("geo", links), ["geo-irtf", "geo-ka", "geo-ku", "geo-lossy"]);
        assert_eq!(near("ge-ka", links), ["geo-ka"]);
        assert_eq!(near("pep", ["peach", "satpep", "prep", "pepsal"]), ["pepsal", "satpep"]);
        assert_eq!(near("dela", ["delay_tolerance", "delay"]), ["delay"], "one slip");
    }

    #[test]
    fn the_nearest_version_is_nearest_by_its_numbers() {
        let hosts =
            ["linux-2.4", "linux-4.19", "linux-5.15", "linux-6.1", "linux-6.12", "linux-6.18"];
        for (name, found) in [
            ("linux-6.10", "linux-6.12"),
            ("linux-6.17", "linux-6.18"),
            ("linux-5.4", "linux-5.15"),
            ("linux-7.3", "linux-6.18"),
            ("linux-2.6", "linux-2.4"),
            ("linux-3.10", "linux-4.19"),
            ("Linux-6.19", "linux-6.18"),
        ] {
            assert_eq!(near(name, hosts), [found], "{name}");
        }
        assert_eq!(near("linux-6", hosts).len(), 3, "a beginning");
        assert_eq!(near("linx-6.18", hosts), ["linux-6.18"], "a slip");
        assert!(near("minix-6.18", ["freebsd-14"]).is_empty());
    }

    #[test]
    fn names_that_are_equally_near_are_all_listed() {
        assert_eq!(near("bbr2", ["bbr", "bbr3", "bic"]), ["bbr3", "bbr"]);
        assert_eq!(near("a", ["aa", "ab"]), ["aa", "ab"]);
        assert_eq!(near("xx1", ["xx2", "xx3", "xx4", "xx5", "xx6"]).len(), MOST);
        let quote = |name: &str| format!("{name:?}");
        let said = |name: &str| nearest(name, ["bbr", "bbr3", "bic"], quote);
        assert_eq!(said("bbr2").as_deref(), Some("\"bbr3\" or \"bbr\""));
        assert_eq!(said("bicc").as_deref(), Some("\"bic\""));
        assert_eq!(said("vegas"), None);
    }
}
