//! Every key of the language has a row in its generated reference.

use language::shape::paths;
use serde_json::Value as Json;

/// The sections of the tables at a path.
fn sections<'a>(page: &'a str, table: &str) -> impl Iterator<Item = &'a str> {
    let headings = match table {
        "" => ["The file".to_owned(), "Keys of the file".to_owned()],
        table => [format!("`{table}`"), format!("`[[{table}]]`")],
    };
    let all = page.split("\n#").map(|section| section.trim_start_matches('#').trim_start());
    all.filter(move |section| headings.iter().any(|heading| section.starts_with(heading)))
}

/// The paths of the tables in which the keys of a section are described, if it refers to them.
fn referred(section: &str) -> Option<&str> {
    let (_, other) = section.split_once("The keys are those of [`")?;
    Some(other.split_once('`')?.0.trim_matches(['[', ']']))
}

/// True if `page` has a row for the key at `path`, in the section of its table or in one to which
/// that of the table or of one around it refers.
fn has_row(page: &str, path: &str) -> bool {
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    let row = format!("\n| `{key}` | ");
    let ends = path.match_indices('.').map(|(end, _)| end);
    sections(page, table).any(|section| section.contains(&row))
        || ends.rev().any(|end| {
            let mut others = sections(page, &path[..end]).filter_map(referred);
            others.any(|other| has_row(page, &format!("{other}{}", &path[end..])))
        })
}

/// The keys of `schema` without a row in `page`.
fn missing(schema: &Json, page: &str) -> Vec<String> {
    // Tables of controllers are described once, with the controller of a flow, and so are the keys
    // that the flows of a mix have.
    let of_flows = ["mix.host.", "mix.transport."];
    let elsewhere = |path: &str| {
        path.contains(".controller.") && !path.starts_with("flow.")
            || of_flows.iter().any(|table| path.starts_with(table))
    };
    let paths = paths(schema).into_iter().filter(|path| !elsewhere(path));
    paths.filter(|path| !has_row(page, path)).collect()
}

#[test]
fn every_key_of_a_scenario_is_in_its_reference() {
    let page = include_str!("../../../../docs/scenario.md");
    assert_eq!(missing(&scenario::schema(), page), <[String; 0]>::default());
}

#[test]
fn every_key_of_a_study_is_in_its_reference() {
    let page = include_str!("../../../../docs/studies.md");
    assert_eq!(missing(&scenario::study_schema(), page), <[String; 0]>::default());
}

#[test]
fn a_key_without_a_row_is_found() {
    let page = include_str!("../../../../docs/scenario.md").replace("| `reader_rate` |", "|");
    assert_eq!(missing(&scenario::schema(), &page), ["flow.transport.reader_rate"]);
    // It is described once, for the flow and both sides of a proxy.
    let page = include_str!("../../../../docs/scenario.md").replace("| `ack_floor` |", "|");
    let tables = ["flow.transport", "node.proxy.satellite", "node.proxy.terrestrial"];
    let keys = tables.map(|table| format!("{table}.scps.ack_floor"));
    assert_eq!(missing(&scenario::schema(), &page), keys);
}
