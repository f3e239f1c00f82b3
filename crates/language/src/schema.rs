//! JSON Schemas of files, made from the types of their content.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// A schema with an identifier of its subject and of this version.
pub fn published(name: &str, schema: &Value) -> Value {
    let mut published = schema.clone();
    published["$id"] = format!("urn:bentpipe:{name}:{}", env!("CARGO_PKG_VERSION")).into();
    published
}

/// The schema of a file whose content is a `T`, without references.
///
/// The generator makes each type once. It could put the schema of a type wherever a field has that
/// type, but would then go through the schemas of inner types again for each type around them.
pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(Tidy);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let types = schema.as_object_mut().and_then(|root| root.remove("$defs"));
    if let Some(Value::Object(types)) = types {
        inline(&mut schema, &types);
    }
    schema
}

/// Puts the schema of a type where a schema refers to it. Keywords beside the reference take
/// precedence.
fn inline(schema: &mut Value, types: &Map<String, Value>) {
    let Value::Object(object) = schema else {
        schema.as_array_mut().into_iter().flatten().for_each(|each| inline(each, types));
        return;
    };
    if let Some(Value::String(reference)) = object.remove("$ref") {
        let name = reference.trim_start_matches("#/$defs/");
        for (key, value) in types.get(name).and_then(Value::as_object).into_iter().flatten() {
            object.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    object.values_mut().for_each(|value| inline(value, types));
}

/// Makes schemas simpler. TOML has no null, so a value that may be absent is only not required. A
/// doc comment is one paragraph. An enum of words is a list of words.
#[derive(Clone, Debug)]
struct Tidy;

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = text.replace('\n', " ");
        }
        // An enum whose words have doc comments.
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
        if let Some(Value::Array(types)) = object.get("type") {
            let real = types.iter().find(|t| *t != "null").cloned();
            object.insert("type".into(), real.unwrap_or(Value::Null));
        }
        if let Some(Value::Array(mut options)) = object.remove("anyOf") {
            options.retain(|option| option.get("type").is_none_or(|t| t != "null"));
            match options.as_slice() {
                // Keywords of the field take precedence over those of its type.
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
