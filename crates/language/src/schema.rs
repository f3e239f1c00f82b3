//! JSON Schemas of files, made from the types of their content.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// A schema as others get it: with the identifier of what it describes and of this version.
pub fn published(name: &str, schema: &Value) -> Value {
    let mut published = schema.clone();
    published["$id"] = format!("urn:bentpipe:{name}:{}", env!("CARGO_PKG_VERSION")).into();
    published
}

/// The schema of a file whose content is a `T`.
pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(Tidy);
    settings.into_generator().into_root_schema_for::<T>().to_value()
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
