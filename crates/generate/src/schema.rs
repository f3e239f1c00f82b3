//! Values that a JSON Schema admits, for property tests of the check and of the types.

use language::shape::{alternatives, keys, required, type_of, words};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// Any value that `schema` admits.
pub fn admitted(schema: &Json) -> BoxedStrategy<Json> {
    let options: Vec<_> = alternatives(schema).into_iter().map(one_admitted).collect();
    prop::strategy::Union::new(options).boxed()
}

fn one_admitted(schema: &Json) -> BoxedStrategy<Json> {
    let words: Vec<Json> = words(schema).into_iter().map(Json::from).collect();
    if !words.is_empty() {
        return prop::sample::select(words).boxed();
    }
    let least = schema["minimum"].as_f64().unwrap_or(0.0);
    let most = schema["maximum"].as_f64().or(schema["exclusiveMaximum"].as_f64());
    let most = most.unwrap_or(f64::MAX).min(least + 100.0);
    match type_of(schema) {
        "boolean" => any::<bool>().prop_map(Json::from).boxed(),
        "integer" => (least as u64..=most as u64).prop_map(Json::from).boxed(),
        "number" => (0.01..0.99).prop_map(move |x: f64| json!(least + x * (most - least))).boxed(),
        "array" => {
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            let most = schema["maxItems"].as_u64().map_or(least + 2, |most| most as usize);
            prop::collection::vec(admitted(&schema["items"]), least..=most)
                .prop_map(Json::from)
                .boxed()
        }
        "object" => table(schema),
        _ => match schema["x-format"].as_str() {
            Some("name") => prop::sample::select(vec!["a", "b", "c"]).prop_map(Json::from).boxed(),
            // The example of a type may lie below the bound of a key.
            _ => Just(schema.get("x-minimum").unwrap_or(&schema["examples"][0]).clone()).boxed(),
        },
    }
}

/// A table with the keys that it must have and some of the others.
fn table(schema: &Json) -> BoxedStrategy<Json> {
    let must: Vec<_> = required(schema).map(str::to_owned).collect();
    let fields: Vec<_> = keys(schema)
        .map(|key| {
            let value = admitted(&schema["properties"][key]);
            let value = match must.iter().any(|name| name == key) {
                true => value.prop_map(Some).boxed(),
                false => prop::option::of(value).boxed(),
            };
            (Just(key.to_owned()), value)
        })
        .collect();
    fields
        .prop_map(|fields| {
            fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Json>()
        })
        .boxed()
}
