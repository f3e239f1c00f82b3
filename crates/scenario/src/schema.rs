//! The JSON Schema of the language, made from the types in `document` and from the registry of
//! controllers.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use congestion::{Allowed, Entry, Parameter, Specification};
use link::Code;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::document::{CodeName, Controller, Document};
use crate::overrides;
use crate::shape;

/// The JSON Schema of a scenario file, for editors and for other programs that write scenarios.
pub fn schema() -> Value {
    published("scenario", cached())
}

/// A schema as others get it: with the identifier of what it describes and of this version.
pub(crate) fn published(name: &str, schema: &Value) -> Value {
    let mut published = schema.clone();
    published["$id"] = format!("urn:bentpipe:{name}:{}", env!("CARGO_PKG_VERSION")).into();
    published
}

/// The same, computed once, and again when more controllers have been registered since.
pub(crate) fn cached() -> &'static Value {
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

/// The schema of a file whose content is a `T`.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(Tidy);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn generate() -> Value {
    let mut schema = of::<Document>();
    // What one direction leaves out is what the link says, not what the language says.
    for side in ["forward", "backward"] {
        let link = &mut schema["properties"]["link"]["items"]["properties"];
        let properties = link[side]["properties"].as_object_mut();
        for property in properties.into_iter().flatten().filter_map(|(_, p)| p.as_object_mut()) {
            property.remove("default");
        }
    }
    schema
}

/// TOML has no null: a value that may be absent is just not required. And a doc comment is one
/// paragraph, wherever its lines were broken.
#[derive(Clone, Debug)]
struct Tidy;

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = text.replace('\n', " ");
        }
        // Names of an enum that is documented for those who read its crate: a list of names.
        let names = object.get("oneOf").and_then(Value::as_array).and_then(|options| {
            options.iter().map(|option| option.get("const").cloned()).collect::<Option<Vec<_>>>()
        });
        if let Some(names) = names {
            object.remove("oneOf");
            object.insert("type".into(), "string".into());
            object.insert("enum".into(), names.into());
        }
        if object.get("default").is_some_and(Value::is_null) {
            object.remove("default");
        }
        // An enum whose values have doc comments.
        if let Some(Value::Array(options)) = object.get("oneOf") {
            let words: Option<Vec<_>> = options.iter().map(|o| o.get("const").cloned()).collect();
            if let Some(words) = words {
                object.remove("oneOf");
                object.insert("type".into(), "string".into());
                object.insert("enum".into(), Value::Array(words));
            }
        }
        if let Some(Value::Array(types)) = object.get("type") {
            let real = types.iter().find(|t| *t != "null").cloned();
            object.insert("type".into(), real.unwrap_or(Value::Null));
        }
        if let Some(Value::Array(mut options)) = object.remove("anyOf") {
            options.retain(|option| option.get("type").is_none_or(|t| t != "null"));
            match options.as_slice() {
                // What was said about the field wins over what its type says about itself.
                [Value::Object(only)] => {
                    for (key, value) in only {
                        object.entry(key.clone()).or_insert_with(|| value.clone());
                    }
                }
                _ => {
                    object.insert("anyOf".into(), Value::Array(options));
                }
            }
        }
    }
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
    fn inline_schema() -> bool {
        true
    }
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
