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
/// 2. names that begin with `name`, then names that contain it. A name of these at an edit distance of one
///    stands alone,
/// 3. all names at the smallest edit distance, those of the same length first. A name that is the
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

/// The nearest names as the end of an error message: `"a"`, or `"a", "b" or "c"`; `None` without any.
/// `quote` writes a name.
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

fn plain(text: &str) -> String {
    text.to_lowercase().replace(['-', '_', ' '], "")
}

/// The number of slips between two names without case and hyphens. `None` if there are too many: more
/// than one in names of three letters, more than two in names of four to eight, or more than a third
/// of the letters.
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
