//! Keys of `flow.transport` and the protocols that take them.

use transport::{Protocol, ProtocolEntry, TakenKeys};

use crate::describe;
use crate::document::Document;
use crate::error::Problem;
use crate::path::Path;
use crate::tree::{Tree, Value};

/// A key that a protocol does not take would have no effect.
pub(super) fn check(document: &Document, tree: &Tree, problems: &mut Vec<Problem>) {
    let all: Vec<_> = Protocol::ALL.iter().map(|protocol| protocol.entry()).collect();
    for (number, flow) in document.flow.iter().enumerate() {
        let path = Path::entry("flow", number).key("transport");
        let written = tree.at(&path).map(|tree| &tree.value);
        let Some(Value::Table(entries)) = written else { continue };
        let keys = entries.iter().map(|entry| entry.key.as_str());
        problems.extend(refused(flow.transport.protocol.entry(), &all, keys, &path));
    }
}

/// Those of `keys` that `chosen`, one of `all`, does not take.
fn refused<'a>(
    chosen: &ProtocolEntry,
    all: &[&ProtocolEntry],
    keys: impl Iterator<Item = &'a str>,
    path: &Path,
) -> Vec<Problem> {
    let refuse = |key: &str| {
        if key == "protocol" || chosen.table == Some(key) {
            return None;
        }
        let owner = all.iter().find(|entry| entry.table == Some(key));
        let because = match owner {
            Some(owner) => format!("it has the settings of protocol = {:?}", owner.name),
            None if chosen.takes(key) => return None,
            None => format!("it is a setting of TCP, and {} has {}", chosen.name, own(chosen)),
        };
        let expected = format!("no `{key}` with protocol = {:?}", chosen.name);
        Some(Problem::new(path.key(key), expected, "the key").because(because))
    };
    keys.filter_map(refuse).collect()
}

/// The keys that a protocol takes.
fn own(entry: &ProtocolEntry) -> String {
    match (entry.keys, entry.table) {
        (TakenKeys::Only(keys), table) => {
            let keys: Vec<_> = table.into_iter().chain(keys.iter().copied()).collect();
            describe::list(&describe::code(&keys), "and")
        }
        (TakenKeys::AllBut(_), Some(table)) => format!("rules of its own, see `{table}`"),
        (TakenKeys::AllBut(_), None) => "rules of its own".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use congestion::Status;

    use super::*;

    const LIKE_TCP: ProtocolEntry = ProtocolEntry {
        name: "like-tcp",
        summary: "",
        source: "",
        status: Status::Published,
        on_kernel: false,
        table: Some("like"),
        keys: TakenKeys::AllBut(&["recovery"]),
    };
    const OTHER: ProtocolEntry = ProtocolEntry {
        name: "other",
        table: Some("other"),
        keys: TakenKeys::Only(&["reader_rate"]),
        ..LIKE_TCP
    };

    fn refused_keys(chosen: &ProtocolEntry, keys: &[&str]) -> Vec<String> {
        let all = [Protocol::Tcp.entry(), &LIKE_TCP, &OTHER];
        let problems = refused(chosen, &all, keys.iter().copied(), &Path::default());
        problems.iter().map(|problem| problem.path.to_string()).collect()
    }

    #[test]
    fn a_protocol_takes_its_own_table_and_the_keys_that_have_an_effect() {
        let keys = ["protocol", "mss", "recovery", "reader_rate", "like", "other"];
        assert_eq!(refused_keys(Protocol::Tcp.entry(), &keys), ["like", "other"]);
        assert_eq!(refused_keys(&LIKE_TCP, &keys), ["recovery", "other"]);
        assert_eq!(refused_keys(&OTHER, &keys), ["mss", "recovery", "like"]);
    }

    #[test]
    fn the_message_names_what_is_possible() {
        let all = [Protocol::Tcp.entry(), &LIKE_TCP, &OTHER];
        let reason = |chosen, key| {
            let problems = refused(chosen, &all, [key].into_iter(), &Path::default());
            problems[0].reason.clone().unwrap()
        };
        assert_eq!(
            reason(Protocol::Tcp.entry(), "other"),
            "it has the settings of protocol = \"other\""
        );
        let expected = "it is a setting of TCP, and other has `other` and `reader_rate`";
        assert_eq!(reason(&OTHER, "mss"), expected);
    }
}
