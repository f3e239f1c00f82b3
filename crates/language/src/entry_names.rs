//! Names of the entries of a list, as paths write them: `flow.download.controller`.

use crate::error::Problem;
use crate::path::Path;
use crate::suggest;
use crate::tree::Tree;

/// Most names that a message lists.
const MOST: usize = 20;

/// The names of an entry of a list of tables: path of the list, index of the entry, entry.
pub type EntryNames = fn(&Path, usize, &Tree) -> Vec<String>;

/// The index of the one entry of `items` that is called `name`.
pub(crate) fn find(
    name: &str,
    items: &[Tree],
    path: &Path,
    names_of: EntryNames,
) -> Result<usize, Box<Problem>> {
    let names: Vec<_> = items.iter().enumerate().map(|(i, item)| names_of(path, i, item)).collect();
    let called = |of_one: &Vec<String>| of_one.iter().any(|one| one == name);
    let found: Vec<_> = (0..items.len()).filter(|i| called(&names[*i])).collect();
    let (given, place) = (format!("`{name}`"), path.key(name));
    match found[..] {
        [only] => Ok(only),
        [] => {
            let known: Vec<_> = names.iter().filter_map(|names| names.first()).collect();
            let near = suggest::nearest(name, names.iter().flatten().map(String::as_str));
            Err(Problem::new(place, expected(&known, path), given).suggest(near).into())
        }
        _ => {
            let numbers: Vec<_> = found.iter().map(|i| format!("`{path}.{i}`")).collect();
            let problem = Problem::new(place, numbers.join(" or "), given);
            Err(problem.because(format!("{} entries have this name", found.len())).into())
        }
    }
}

/// The existing entries.
fn expected(known: &[&String], path: &Path) -> String {
    let example = format!("an index or `*` as in `{path}.0` or `{path}.*`");
    let listed: Vec<_> = known.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let more = known.len().saturating_sub(MOST);
    match (listed.as_slice(), more) {
        ([], _) => example,
        (names, 0) => format!("{}, or {example}", names.join(", ")),
        (names, more) => format!("{} and {more} more, or {example}", names.join(", ")),
    }
}
