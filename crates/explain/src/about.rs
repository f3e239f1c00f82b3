//! Subject of a warning, and its place in the scenario.

use language::error::Place;

use super::warnings::WarningKind as Kind;
use scenario::Written;
use scenario::model::Scenario;

/// The part of a scenario that a warning is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About {
    /// The `[[flow]]` of this number.
    Flow(usize),
    /// The link of this number.
    Link(usize),
    /// A direction of the link of this number: `forward` or `backward`.
    Side(usize, &'static str),
    /// The node of this number.
    Node(usize),
    /// The switch of this number.
    Switch(usize),
    /// A group of terminals: the numbers of its beam, and its own there.
    Group(usize, usize),
    /// A key of the scenario; an empty one is the scenario as a whole.
    Key(&'static str),
}

impl About {
    /// The place of the key that causes warnings of this kind. If it was not written, that of the
    /// part.
    ///
    /// A key of a direction may also be written for both directions of its link.
    pub(crate) fn place(self, kind: Kind, scenario: &Scenario, written: &Written) -> Place {
        let tables = match self {
            Self::Flow(entry) => vec![format!("flow[{entry}]")],
            Self::Link(link) => vec![format!("link[{link}]")],
            Self::Side(link, side) => vec![format!("link[{link}].{side}"), format!("link[{link}]")],
            Self::Node(node) => {
                let number = scenario.nodes[node].entry;
                number.map(|number| format!("node[{number}]")).into_iter().collect()
            }
            Self::Switch(number) => vec![format!("switch[{number}]")],
            Self::Group(beam, group) => vec![format!("beam[{beam}].group[{group}]")],
            Self::Key(key) => return written.place([key]),
        };
        let key = match (self, kind) {
            // Links have it in their channel.
            (Self::Group(..), Kind::NoiseWithoutRain) => "system_temperature",
            _ => kind.key(),
        };
        let mut paths: Vec<_> = tables.iter().map(|table| format!("{table}.{key}")).collect();
        // The header of a table only shows the kind of table.
        paths.extend(
            tables.iter().flat_map(|table| {
                ["between", "name", "from"].map(|name| format!("{table}.{name}"))
            }),
        );
        paths.extend(tables);
        written.place(paths.iter().map(String::as_str))
    }
}
