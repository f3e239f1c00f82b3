//! Pages of random scenarios: objects with names of their own that wait for earlier ones.

use serde_json::{Value as Json, json};

use crate::dice::Dice;
use crate::document::take;

/// Sources of the objects of a page, of which it has one.
const SOURCES: [&str; 4] = ["site", "file", "objects", "model"];

/// Makes a page possible: one source of its objects, and no more connections ahead than it may
/// have.
pub(crate) fn settle(page: &mut Json, dice: &mut Dice) {
    let drawn: Vec<_> = SOURCES.into_iter().filter(|source| !page[*source].is_null()).collect();
    // Few pages have dependencies, so a page with them keeps its objects.
    let depends = page["objects"].as_array().is_some_and(|all| all.iter().any(waits_for_list));
    let chosen = match drawn.as_slice() {
        [] => return,
        _ if depends => "objects",
        drawn => *dice.pick(drawn),
    };
    SOURCES.iter().filter(|source| **source != chosen).for_each(|source| take(page, source));
    if chosen == "objects" {
        name_objects(page, dice);
    }
    if !page["preconnect"].is_null() {
        page["http"] = "1.1".into();
        page["preconnect"] = 1.into();
    }
}

fn waits_for_list(object: &Json) -> bool {
    object["after"].is_array()
}

/// Names the objects by their numbers. Each waits for the one before it, if it waits for any.
fn name_objects(page: &mut Json, dice: &mut Dice) {
    let Some(objects) = page["objects"].as_array_mut() else { return };
    if objects.len() == 1 && waits_for_list(&objects[0]) {
        objects.insert(0, json!({ "bytes": "10kB" }));
    }
    for (number, object) in objects.iter_mut().enumerate() {
        object["name"] = format!("object-{number}").into();
        // Copies of an object cannot be waited for.
        take(object, "count");
        let Some(earlier) = number.checked_sub(1) else {
            take(object, "after");
            continue;
        };
        let earlier = Json::from(format!("object-{earlier}"));
        if let Some(all) = object["after"].as_array_mut() {
            all.truncate(1);
            all.iter_mut().for_each(|one| one["object"] = earlier.clone());
        } else if object["after"].is_string() {
            object["after"] = earlier;
        }
    }
    if dice.chance(0.3)
        && let Some(last) = objects.last_mut()
    {
        last["count"] = (1 + dice.below(3)).into();
    }
}
