//! Tables: the alternative that is meant, missing keys and unknown keys.

use serde_json::Value as Json;

use crate::describe;
use crate::error::Problem;
use crate::path::Path;
use crate::shape;
use crate::suggest;
use crate::tree::{Entry, Origin, Tree, Value};

/// Checks a table against the one of `schemas` that it is meant to be.
pub(super) fn table(tree: &Tree, schemas: &[&Json], path: &Path, problems: &mut Vec<Problem>) {
    match meant(tree, schemas, path) {
        Ok(schema) => fields(tree, schema, schemas, path, problems),
        Err(problem) => problems.push(*problem),
    }
}

/// The alternative that a table is meant to be. Alternatives are distinguished by a key that has
/// another fixed word in each (`name = "adalr"`), or by a key that each of them requires
/// (`per` or `ber`).
fn meant<'a>(tree: &Tree, schemas: &[&'a Json], path: &Path) -> Result<&'a Json, Box<Problem>> {
    match schemas {
        [only] => Ok(only),
        _ => match fixed_key(schemas) {
            Some(key) => by_word(tree, schemas, key, path),
            None => by_key(tree, schemas, path),
        },
    }
}

/// A key with one fixed word in every alternative.
fn fixed_key<'a>(schemas: &[&'a Json]) -> Option<&'a str> {
    let fixed = |schema: &Json, key: &str| schema["properties"][key].get("const").is_some();
    shape::keys(schemas[0]).find(|key| schemas.iter().all(|schema| fixed(schema, key)))
}

fn by_word<'a>(
    tree: &Tree,
    schemas: &[&'a Json],
    key: &str,
    path: &Path,
) -> Result<&'a Json, Box<Problem>> {
    let constant = |schema: &'a Json| schema["properties"][key]["const"].as_str().unwrap_or("");
    let words: Vec<_> = schemas.iter().map(|schema| constant(schema)).collect();
    let expected = describe::list(&describe::quoted(&words), "or");
    let Some(value) = tree.get(key) else {
        return Err(Problem::new(path.key(key), expected, "nothing").into());
    };
    let Value::String(word) = &value.value else {
        return Err(Problem::new(path.key(key), expected, describe::found(value)).into());
    };
    schemas.iter().copied().find(|schema| constant(schema) == word).ok_or_else(|| {
        let near = suggest::nearest(word, words);
        Problem::new(path.key(key), expected, describe::quoted_short(word)).suggest(near).into()
    })
}

fn by_key<'a>(tree: &Tree, schemas: &[&'a Json], path: &Path) -> Result<&'a Json, Box<Problem>> {
    let present = |schema: &&Json| own(schema, schemas).any(|key| tree.get(key).is_some());
    let chosen: Vec<_> = schemas.iter().copied().filter(present).collect();
    if let [one] = chosen.as_slice() {
        return Ok(one);
    }
    let names: Vec<_> = schemas.iter().flat_map(|schema| own(schema, schemas)).collect();
    // The first of its keys names an alternative.
    let first = schemas.iter().filter_map(|schema| own(schema, schemas).next());
    let first = describe::code(&first.collect::<Vec<_>>());
    let expected = format!("one of {}", describe::list(&first, "and"));
    let entries = match &tree.value {
        Value::Table(entries) => entries.as_slice(),
        _ => &[],
    };
    if !chosen.is_empty() {
        let both = entries.iter().map(|entry| entry.key.as_str()).filter(|k| names.contains(k));
        let both = describe::list(&describe::code(&both.collect::<Vec<_>>()), "and");
        // If an override adds the second alternative, the error is at the override.
        let problem = Problem::new(path.clone(), format!("only {expected}"), both);
        let last = entries.iter().map(|entry| &entry.origin).max();
        return Err(match last {
            Some(set @ Origin::Set(_)) => problem.at(set.clone()).into(),
            _ => problem.into(),
        });
    }
    let problem = Problem::new(path.clone(), expected, describe::found(tree));
    let near = entries.iter().find_map(|entry| {
        suggest::nearest_key(&entry.key, names.iter().copied()).map(|name| (entry, name))
    });
    Err(match near {
        Some((entry, name)) => problem.suggest(Some(name)).at(entry.origin.clone()).into(),
        None => problem.into(),
    })
}

/// The required keys of `schema` that distinguish it from the others of `schemas`.
fn own<'a>(schema: &'a Json, schemas: &[&Json]) -> impl Iterator<Item = &'a str> {
    let shared = |key: &str| schemas.iter().all(|all| shape::required(all).any(|k| k == key));
    shape::required(schema).filter(move |key| !shared(key))
}

/// Checks the keys of a table that is meant to be `schema`, one of `schemas`.
fn fields(tree: &Tree, schema: &Json, schemas: &[&Json], path: &Path, problems: &mut Vec<Problem>) {
    let Value::Table(entries) = &tree.value else { return };
    if entries.is_empty() && schema["minProperties"].as_u64().is_some_and(|least| least > 0) {
        let expected = "a table with at least one key";
        problems.push(Problem::new(path.clone(), expected, describe::found(tree)));
    }
    for entry in entries {
        match schema["properties"].get(&entry.key) {
            Some(property) => super::value(&entry.tree, property, &path.key(&entry.key), problems),
            None if schema["additionalProperties"].is_object() => {
                let any = &schema["additionalProperties"];
                super::value(&entry.tree, any, &path.key(&entry.key), problems);
            }
            // Checked elsewhere: a table of a scenario in a study is checked with the scenario.
            None if schema["additionalProperties"] == true => {}
            None => problems.push(unknown(entry, schema, schemas, path)),
        }
    }
    for key in shape::required(schema).filter(|key| tree.get(key).is_none()) {
        let property = &schema["properties"][key];
        let expected = match shape::is_tables(property) {
            true => format!("at least one [[{}]]", path.key(key)),
            false => describe::expected(&shape::alternatives(property)),
        };
        problems.push(Problem::new(path.key(key), expected, "nothing"));
    }
}

/// Most keys that a message lists where a near name is known.
const LONGEST_LIST: usize = 6;

/// The keys that are expected in the table at `path`. A long list is left out if a name is near.
pub(crate) fn one_of(keys: &[&str], is_near: bool, path: &Path, table: &Json) -> String {
    match keys {
        [only] => format!("no key but `{only}`"),
        keys if is_near && keys.len() > LONGEST_LIST => match path.to_string().as_str() {
            "" => {
                let title = table["title"].as_str().unwrap_or("file");
                let title = title.trim_start_matches("Bentpipe ");
                let article = if title.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
                format!("a key of {article} {title}")
            }
            inner => format!("a key of `{inner}`"),
        },
        keys => format!("one of {}", describe::list(&describe::code(keys), "and")),
    }
}

fn unknown(entry: &Entry, schema: &Json, schemas: &[&Json], path: &Path) -> Problem {
    let keys: Vec<_> = shape::keys(schema).collect();
    let near = nearest_key(&entry.key, schema);
    let expected = one_of(&keys, near.is_some(), path, schema);
    let found = "an unknown key";
    let problem = Problem::new(path.key(&entry.key), expected, found).at(entry.origin.clone());
    match companion(&entry.key, schemas) {
        Some(key) => Problem { found: "another".into(), ..problem }
            .because(format!("`{}` goes with `{key}`", entry.key)),
        None => problem.suggest(near),
    }
}

/// The key that stands for the alternative in which `key` would be right.
fn companion<'a>(key: &str, schemas: &[&'a Json]) -> Option<&'a str> {
    let owner = schemas.iter().find(|schema| shape::keys(schema).any(|own| own == key))?;
    own(owner, schemas).next()
}

/// The key that was probably meant: one of this table, or the same one a level deeper.
pub(crate) fn nearest_key(key: &str, schema: &Json) -> Option<String> {
    let deeper = || {
        shape::keys(schema).find_map(|outer| {
            let options = shape::alternatives(&schema["properties"][outer]);
            let holds = options.iter().any(|option| shape::keys(option).any(|k| k == key));
            holds.then(|| format!("`{outer}.{key}`"))
        })
    };
    let here = || suggest::nearest_key(key, shape::keys(schema));
    deeper().or_else(here)
}
