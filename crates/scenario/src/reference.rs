//! The reference of the scenario language in Markdown, for `docs/scenario.md`.

use language::reference;

use crate::schema;

/// The reference of the scenario language in Markdown.
pub fn reference() -> String {
    // Tables of controllers are described once, with the controller of a flow, and so are the keys
    // that the flows of a mix have.
    let elsewhere = |path: &str, key: &str| match key {
        "controller" => path != "flow",
        "host" | "transport" => path == "mix",
        _ => false,
    };
    HEAD.to_owned() + &reference::sections(schema::cached(), "The file", 2, elsewhere)
}

const HEAD: &str = "\
# The scenario language

<!-- Made from the types in `crates/scenario/src/document`; do not edit. -->

A scenario is a TOML file. Quantities are texts with their unit: rates in `bit/s`, `kbit/s`,
`Mbit/s`, `Gbit/s` (or `B/s`, `kB/s`, `MB/s`, `GB/s`), times in `ns`, `us`, `ms`, `s`, `min`, `h`,
sizes in `B`, `kB`, `MB`, `GB` (powers of 1000) and `KiB`, `MiB`, `GiB` (powers of 1024).

Any value can be replaced on the command line with `--set PATH=VALUE`. A path is written as below,
with an index from 0 for the tables in double brackets: `link.1.forward.rate=1Mbit/s`,
`flow.0.controller=reno`; `flow.*.transport.mss=1400` sets it for all flows. A node or flow can be
given by its name, and a link by its two nodes: `node.gateway.proxy=none`, `flow.download.controller=reno`,
`link.hub-ship.rate=1Mbit/s`. A number is always an index. A name with a dot cannot be written in a path.

`bentpipe explain FILE` shows every value of a scenario and marks the defaults.

`bentpipe schema` prints the JSON Schema of this page. Editors with TOML support check and complete a
file that names it in the first line: after `bentpipe schema > scenario.schema.json` that line is
`#:schema ./scenario.schema.json`. The same goes for study files and `bentpipe schema study`.
";
