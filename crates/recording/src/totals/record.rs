//! Records of totals, each declared once. From the declaration follow the struct, its JSON, its
//! columns and, by the macro with the name of the record, its class in Python with docstrings, stub
//! and reference.

use std::borrow::Cow;

use crate::tables::column::{Column, Values};
use crate::tables::extra::Kind;

/// A value of a record's field in a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// A flag.
    Bool(bool),
    /// A count.
    U64(u64),
    /// A number; a value that is not finite is null outside of the recording.
    F64(f64),
    /// A name.
    Text(&'a str),
}

/// A field of a record.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Name of the field, the column and the key in JSON.
    pub name: &'static str,
    /// Meaning, with its unit.
    pub about: &'static str,
    /// Type of its column; `None` without a column.
    pub kind: Option<Kind>,
    /// The column can have nulls.
    pub nullable: bool,
}

/// A type of the fields of records.
pub trait Field {
    /// Type of the column; `None` for parts that have tables of their own.
    const KIND: Option<Kind>;
    /// The column can have nulls.
    const NULLABLE: bool = false;

    /// The value in its column.
    fn cell(&self) -> Cell<'_>;
}

/// A record, declared by the macro `record!`.
pub trait Record {
    /// All fields, in the order of the struct and of its JSON.
    const FIELDS: &'static [FieldInfo];

    /// The values of all fields in their order.
    fn cells(&self) -> Vec<Cell<'_>>;
}

/// The columns of rows of records.
pub(crate) fn columns<'a, R: Record + 'a>(rows: impl Iterator<Item = &'a R>) -> Vec<Column<'a>> {
    let rows: Vec<_> = rows.map(Record::cells).collect();
    let fields = R::FIELDS.iter().enumerate();
    fields
        .filter_map(|(place, field)| {
            let cells = rows.iter().map(|row| row[place]);
            Some(Column { name: field.name, values: values(field.kind?, field.nullable, cells) })
        })
        .collect()
}

/// The cells as a column of `kind`.
pub(crate) fn values<'a>(
    kind: Kind,
    nullable: bool,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Values<'a> {
    let count = |cell| if let Cell::U64(count) = cell { count } else { u64::MAX };
    let text = |cell| if let Cell::Text(text) = cell { Some(text) } else { None };
    match kind {
        Kind::Bool => Values::Bool(cells.map(|cell| cell == Cell::Bool(true)).collect()),
        Kind::U64 | Kind::U32 if nullable => Values::U64OrUnset(cells.map(count).collect()),
        Kind::U64 | Kind::U32 => Values::U64(cells.map(count).collect()),
        Kind::F64 => {
            let number = |cell| if let Cell::F64(number) = cell { number } else { f64::NAN };
            Values::F64(cells.map(number).collect())
        }
        Kind::Text if nullable => Values::TextOrNone(cells.map(text).collect()),
        Kind::Text => Values::Text(cells.map(|cell| text(cell).unwrap_or_default()).collect()),
    }
}

macro_rules! field {
    ($($type:ty: $kind:ident of |$value:ident| $cell:expr),+ $(,)?) => {
        $(impl Field for $type {
            const KIND: Option<Kind> = Some(Kind::$kind);

            fn cell(&self) -> Cell<'_> {
                let $value = self;
                Cell::$kind($cell)
            }
        })+
    };
}

field! {
    bool: Bool of |value| *value,
    u64: U64 of |value| *value,
    f64: F64 of |value| *value,
    String: Text of |value| value,
    Cow<'static, str>: Text of |value| value,
}

impl<T: Field> Field for Option<T> {
    const KIND: Option<Kind> = T::KIND;
    const NULLABLE: bool = true;

    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, Field::cell)
    }
}

/// Lists have tables of their own.
impl<T> Field for Vec<T> {
    const KIND: Option<Kind> = None;

    fn cell(&self) -> Cell<'_> {
        Cell::Null
    }
}

/// Declares a record: its struct with JSON, its [`Record`] and a macro that passes the declaration
/// on, with which other crates make classes of it. The docstrings are those of Python, too. `$`
/// comes first for that macro.
macro_rules! record {
    (($d:tt) $macro:ident; $(#[doc = $doc:tt])* $name:ident {
        $($(#[doc = $about:tt])* $(#[serde($($serde:tt)*)])? $field:ident: $type:ty),+ $(,)?
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[doc = $about])* $(#[serde($($serde)*)])? pub $field: $type,)+
        }

        $crate::totals::record::record! {
            @passed ($d) $macro;
            $(#[doc = $doc])* $name { $($(#[doc = $about])* $field: $type),+ }
        }
    };
    (@passed ($d:tt) $macro:ident; $(#[doc = $doc:tt])* $name:ident {
        $($(#[doc = $about:tt])* $field:ident: $type:ty),+
    }) => {
        impl $crate::totals::record::Record for $name {
            const FIELDS: &'static [$crate::totals::record::FieldInfo] = &[$($crate::totals::record::FieldInfo {
                name: stringify!($field),
                about: concat!($($about, "\n"),*),
                kind: <$type as $crate::totals::record::Field>::KIND,
                nullable: <$type as $crate::totals::record::Field>::NULLABLE,
            },)+];

            fn cells(&self) -> Vec<$crate::totals::record::Cell<'_>> {
                vec![$($crate::totals::record::Field::cell(&self.$field),)+]
            }
        }

        #[doc = concat!("Passes the declaration of [`", stringify!($name), "`] to a macro.")]
        #[macro_export]
        macro_rules! $macro {
            ($d callback:ident $d extra:tt) => {
                $d callback! {
                    $d extra
                    $(#[doc = $doc])* $name { $($(#[doc = $about])* $field: $type,)+ }
                }
            };
        }
    };
}

/// Declares a record of which there may be a million, as [`record!`] does. All fields but those
/// after `[own]` are behind an address, which records with equal values can share. They are read
/// and written as fields of the record, and stand among them in its JSON.
macro_rules! divided_record {
    (($d:tt) $macro:ident; $(#[doc = $doc:tt])* $name:ident and $apart:ident in $place:ident {
        $(
            $(#[doc = $about:tt])* $(#[serde($($serde:tt)*)])? $([$mark:ident])?
            $field:ident: $type:ty
        ),+ $(,)?
    }) => {
        $crate::totals::record::divided_record! {
            @split [$(#[doc = $doc])*] $name $apart $place [] []
            $({ $(#[doc = $about])* $([$mark])? $field: $type })+
        }

        impl std::ops::Deref for $name {
            type Target = $apart;

            fn deref(&self) -> &$apart {
                &self.$place
            }
        }

        impl std::ops::DerefMut for $name {
            fn deref_mut(&mut self) -> &mut $apart {
                std::sync::Arc::make_mut(&mut self.$place)
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&+
            }
        }

        const _: () = {
            #[derive(serde::Serialize, serde::Deserialize)]
            struct Whole {
                $($(#[serde($($serde)*)])? $field: $type,)+
            }

            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    Whole { $($field: self.$field.clone(),)+ }.serialize(to)
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    let whole = Whole::deserialize(from)?;
                    let mut record = Self::default();
                    $(record.$field = whole.$field;)+
                    Ok(record)
                }
            }
        };

        $crate::totals::record::record! {
            @passed ($d) $macro;
            $(#[doc = $doc])* $name { $($(#[doc = $about])* $field: $type),+ }
        }
    };
    (@split [$(#[doc = $doc:tt])*] $name:ident $apart:ident $place:ident
        [$($here:tt)*] [$($there:tt)*]) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            $($here)*
            /// Its other values.
            pub $place: std::sync::Arc<$apart>,
        }

        #[doc = concat!("Values of a [`", stringify!($name), "`] that others may share.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $apart { $($there)* }
    };
    (@split $doc:tt $name:ident $apart:ident $place:ident [$($here:tt)*] [$($there:tt)*]
        { $(#[doc = $about:tt])* [own] $field:ident: $type:ty } $($rest:tt)*) => {
        $crate::totals::record::divided_record! {
            @split $doc $name $apart $place
            [$($here)* $(#[doc = $about])* pub $field: $type,] [$($there)*] $($rest)*
        }
    };
    (@split $doc:tt $name:ident $apart:ident $place:ident [$($here:tt)*] [$($there:tt)*]
        { $(#[doc = $about:tt])* $field:ident: $type:ty } $($rest:tt)*) => {
        $crate::totals::record::divided_record! {
            @split $doc $name $apart $place
            [$($here)*] [$($there)* $(#[doc = $about])* pub $field: $type,] $($rest)*
        }
    };
}

pub(crate) use {divided_record, record};
