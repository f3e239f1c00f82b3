//! Mechanisms on the path as people write them: a name that stands for the defaults, or a
//! table with the name and parameters.

/// Makes the type of a key from the settings of its mechanisms: an enum `Key` of either form, and
/// the names as `Names`, with `none`. The settings have `all()` and `name()`.
macro_rules! named {
    ($(#[$doc:meta])* $key:ident, $names:ident, $settings:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(untagged)]
        #[schemars(inline)]
        pub(crate) enum $key {
            Name($names),
            Table($settings),
        }

        /// A name, or `none`.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $names(String);

        impl JsonSchema for $names {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($names).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut names = vec!["none"];
                names.extend(<$settings>::all().iter().map(<$settings>::name));
                schemars::json_schema!({ "type": "string", "enum": names })
            }
        }

        impl $key {
            /// The mechanism with its parameters; `None` for `none`.
            pub(crate) fn resolve(&self) -> Option<$settings> {
                match self {
                    Self::Name($names(name)) => {
                        <$settings>::all().into_iter().find(|one| one.name() == name)
                    }
                    Self::Table(settings) => Some(Clone::clone(settings)),
                }
            }
        }
    };
}

pub(super) use named;
