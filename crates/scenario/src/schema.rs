//! The JSON Schema of the language, made from the types in `document` and from the registry of
//! controllers.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use congestion::{Allowed, Entry, Parameter, Specification};
use language::overrides;
use language::schema as generated;
use language::shape;
use link::Code;
use quic::{Choice, Congestion};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::document::{CodeName, Controller, Document};

/// The JSON Schema of a scenario file, for editors and for other programs that write scenarios.
pub fn schema() -> Value {
    generated::published("scenario", cached())
}

/// The same, computed once, and again when more controllers have been registered since.
pub fn cached() -> &'static Value {
    static SCHEMA: Mutex<Option<(usize, &'static Value)>> = Mutex::new(None);
    let mut cached = SCHEMA.lock().unwrap_or_else(PoisonError::into_inner);
    let controllers = congestion::entries().count();
    match *cached {
        Some((known, schema)) if known == controllers => schema,
        _ => cached.insert((controllers, Box::leak(Box::new(generate())))).1,
    }
}

/// The schemas of the values at a path that is written as in an override; none if no scenario has
/// such a key.
pub(crate) fn at(path: &str) -> Vec<&'static Value> {
    overrides::steps(path).iter().fold(vec![cached()], |schemas, step| {
        let inner = |option: &'static Value| match shape::type_of(option) {
            "array" => option.get("items"),
            _ => option["properties"].get(step),
        };
        schemas.into_iter().flat_map(shape::alternatives).filter_map(inner).collect()
    })
}

/// The path of an override with indices after dots: `link.0.overhead` for `link[0].overhead`.
/// `None` if no scenario has such a key.
pub fn dotted_path(path: &str) -> Option<String> {
    (!at(path).is_empty()).then(|| overrides::steps(path).join("."))
}

fn generate() -> Value {
    let mut schema = generated::of::<Document>();
    // What one direction leaves out is what the link says, not what the language says.
    for side in ["forward", "backward"] {
        let link = &mut schema["properties"]["link"]["items"]["properties"];
        let properties = link[side]["properties"].as_object_mut();
        for property in properties.into_iter().flatten().filter_map(|(_, p)| p.as_object_mut()) {
            property.remove("default");
        }
    }
    name_controllers(&mut schema);
    schema
}

/// Gives keys of settings that are a controller of QUIC, by name, the names.
fn name_controllers(schema: &mut Value) {
    if schema["x-format"] == "controller"
        && let Some(key) = schema.as_object_mut()
    {
        let names = congestion::entries().map(|entry| entry.name);
        let carried = names.filter(|name| {
            let named = Specification::named(name);
            named.is_ok_and(|one| Choice::of(Congestion::Bentpipe, &one).is_ok())
        });
        key.insert("enum".into(), carried.collect());
        key.remove("x-format");
    }
    let inner = match schema {
        Value::Object(keys) => keys.values_mut().collect::<Vec<_>>(),
        Value::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    inner.into_iter().for_each(name_controllers);
}

impl JsonSchema for CodeName {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Code".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Code::ALL.map(|(name, _)| name);
        json_schema!({ "type": "string", "enum": names })
    }
}

impl JsonSchema for Controller {
    fn schema_name() -> Cow<'static, str> {
        "Controller".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let none = Specification::unlimited().entry().name;
        let names = congestion::entries().map(|entry| entry.name).chain([none]);
        let names: Vec<_> = names.collect();
        let mut options = vec![json!({ "type": "string", "enum": names })];
        options.extend(congestion::entries().map(controller));
        json_schema!({ "anyOf": options })
    }
}

/// The table that names one controller and sets its parameters.
fn controller(entry: &Entry) -> Value {
    let mut properties = serde_json::Map::new();
    properties.insert("name".into(), json!({ "type": "string", "const": entry.name }));
    for each in entry.parameters {
        properties.insert(each.name.into(), parameter(each));
    }
    json!({
        "type": "object",
        "description": format!("{} ({}).", entry.summary, entry.source),
        "properties": properties,
        "required": ["name"],
        "additionalProperties": false,
    })
}

fn parameter(parameter: &Parameter) -> Value {
    let mut schema = match parameter.allowed {
        Allowed::Range(low, high) => json!({
            "type": "number",
            "minimum": low,
            "maximum": high,
            "default": parameter.default.parse::<f64>().ok(),
        }),
        Allowed::Whole(low, high) => json!({
            "type": "integer",
            "minimum": low,
            "maximum": high,
            "default": parameter.default.parse::<u32>().ok(),
        }),
        Allowed::OneOf(words) => json!({
            "type": "string",
            "enum": words,
            "default": parameter.default,
        }),
    };
    schema["description"] = parameter.meaning.into();
    schema
}
