//! Names of nodes, links and flows, as paths write them: `flow.download.controller`.

use language::path::Path;
use language::tree::{Tree, Value};

/// The names of an entry of `list`: its `name`, or its two nodes in either order. A flow or mix
/// without a name has that of its number.
pub(crate) fn names_of(list: &Path, index: usize, entry: &Tree) -> Vec<String> {
    let Value::Table(_) = &entry.value else { return Vec::new() };
    let of = |key: &str| entry.get(key).map(|tree| &tree.value);
    match (of("name"), of("between")) {
        (Some(Value::String(name)), _) => vec![name.clone()],
        (None, Some(Value::List(ends))) => {
            match ends.iter().map(|end| &end.value).collect::<Vec<_>>()[..] {
                [Value::String(a), Value::String(b)] => {
                    vec![format!("{a}-{b}"), format!("{b}-{a}")]
                }
                _ => Vec::new(),
            }
        }
        _ if matches!(list.to_string().as_str(), "flow" | "mix") => {
            vec![format!("{list}-{index}")]
        }
        _ => Vec::new(),
    }
}
