//! JSON Schema of the quantities: strings with an `x-format` that names the quantity, a pattern for
//! editors and an example. It is not `format`, where JSON Schema has other things of the same name:
//! a `time` is that of RFC 3339.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{Bytes, Rate, SizeLimit, Span};

/// A number, then one of `units`.
fn quantity(format: &str, units: crate::parse::Units, example: &str) -> Schema {
    let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
    let pattern = format!(r"^\s*[0-9.]+([eE][+-]?[0-9]+)?\s*({})\s*$", names.join("|"));
    json_schema!({
        "type": "string",
        "x-format": format,
        "pattern": pattern,
        "examples": [example],
    })
}

macro_rules! string_schema {
    ($type:ident, $format:literal, $units:expr, $example:literal) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                quantity($format, $units, $example)
            }
        }
    };
}

string_schema!(Rate, "rate", crate::rate::UNITS, "2Mbit/s");
string_schema!(Span, "time", crate::time::UNITS, "250ms");
string_schema!(Bytes, "size", crate::size::UNITS, "64KiB");

impl JsonSchema for SizeLimit {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "SizeLimit".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut size = Bytes::json_schema(generator);
        size.insert("x-minimum".into(), "1B".into());
        json_schema!({ "anyOf": [{ "type": "string", "enum": ["unlimited"] }, size] })
    }
}
