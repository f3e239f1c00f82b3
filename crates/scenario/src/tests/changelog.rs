//! Users find every new key in the changelog.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::shape::{alternatives, keys, repeats};

/// The paths of all keys below `schema`. Those of one direction of a link are those of the link, and
/// the parameters of controllers belong to the controllers.
fn paths(schema: &Json, path: &str, all: &mut BTreeSet<String>) {
    for table in alternatives(schema) {
        // The tables of a list, and those under names that the user chooses.
        for inner in ["items", "additionalProperties"] {
            if table[inner].is_object() {
                paths(&table[inner], path, all);
            }
        }
        for key in keys(table) {
            let property = &table["properties"][key];
            let path = format!("{path}{key}");
            if path == "scenario.flow.controller" || repeats(property, table) {
                all.insert(path);
                continue;
            }
            paths(property, &format!("{path}."), all);
            all.insert(path);
        }
    }
}

/// The words of the code in the part of the changelog that is not released.
fn named() -> BTreeSet<&'static str> {
    let changelog = include_str!("../../../../CHANGELOG.md");
    let unreleased = changelog.split("\n## ").find(|part| part.starts_with("Unreleased")).unwrap();
    let code = unreleased.split('`').skip(1).step_by(2);
    code.flat_map(|code| code.split(|c: char| !(c.is_alphanumeric() || "._".contains(c)))).collect()
}

#[test]
fn a_key_that_is_new_or_gone_is_in_the_changelog() {
    let mut now = BTreeSet::new();
    paths(&crate::schema(), "scenario.", &mut now);
    paths(&crate::study_schema(), "study.", &mut now);
    let released = include_str!("released_keys.txt").lines().filter(|line| !line.starts_with('#'));
    let released: BTreeSet<_> = released.map(str::to_owned).collect();
    let named = named();
    // A new table is named once, and its keys with it.
    let is_named = |path: &str| {
        let parents = path.match_indices('.').map(|(end, _)| &path[..end]);
        let new = parents.chain([path]).filter(|path| !released.contains(*path));
        new.filter_map(|path| path.split_once('.')).any(|(_, key)| named.contains(key))
    };
    let forgotten: Vec<_> =
        now.symmetric_difference(&released).filter(|path| !is_named(path)).collect();
    assert!(forgotten.is_empty(), "CHANGELOG.md does not name these keys: {forgotten:#?}");
}
