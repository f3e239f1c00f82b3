//! Tables that a part of a run declares and fills by itself: what a middlebox did, or events.
//!
//! The code that fills a table declares its row with [`extra_table!`](crate::extra_table), pushes
//! rows while the run goes on, and adds the table to
//! [`Recording::tables`](crate::Recording::tables).
//! From there on it is treated as the tables that every recording has: saved as Parquet, loaded,
//! part of the digest, and a data frame in Python.

use parquet::errors::ParquetError as Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tables::Table;
use crate::tables::column::{Column, Values};
use crate::tables::saved::Saved;
use crate::tables::texts::{TextColumn, Texts};

/// Cells of one column of an [`ExtraTable`]. What is not finite is null outside of the recording.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // each is named after its type
pub enum Cells {
    Bool(Vec<bool>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    Text(Texts),
}

impl Cells {
    /// Number of rows.
    fn len(&self) -> usize {
        match self {
            Self::Bool(cells) => cells.len(),
            Self::U32(cells) => cells.len(),
            Self::U64(cells) => cells.len(),
            Self::F64(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
        }
    }

    fn values(&self) -> Values<'_> {
        match self {
            Self::Bool(cells) => Values::Bool(cells.clone()),
            Self::U32(cells) => Values::U32(cells.into()),
            Self::U64(cells) => Values::U64(cells.into()),
            Self::F64(cells) => Values::F64(cells.into()),
            Self::Text(cells) => Values::Text(cells.iter().collect()),
        }
    }
}

/// Type of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is named after its type
pub enum Kind {
    Bool,
    U32,
    U64,
    F64,
    Text,
}

/// Meaning of the values of a column for those who add them up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Numbers of things or events, of which the sum over several rows is a total.
    Count,
    /// Values of which a sum has no meaning: times, rates, shares, settings, flags.
    Measure,
    /// Numbers that stand for things, as the number of a leg.
    Number,
    /// Names.
    Name,
}

impl Kind {
    /// The role of a column without a mark: whole numbers are counts.
    pub const fn role(self) -> Role {
        match self {
            Self::U32 | Self::U64 => Role::Count,
            Self::Bool | Self::F64 => Role::Measure,
            Self::Text => Role::Name,
        }
    }
}

/// A type that a field of a row in [`extra_table!`](crate::extra_table) can have.
pub trait CellType {
    /// Type of the cells of its column.
    const KIND: Kind;

    /// The column while rows are added to it.
    type Column: Clone + std::fmt::Debug + Default + Into<Cells>;

    /// Adds a row to the column.
    fn push(self, column: &mut Self::Column);
}

/// A table that [`extra_table!`](crate::extra_table) declares.
pub trait Rows: Default {
    /// Name and columns.
    const DEFINITION: TableDefinition;

    /// The table for [`Recording::tables`](crate::Recording::tables).
    fn into_table(self) -> ExtraTable;
}

/// Name and columns of an [`ExtraTable`], which are known before any run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDefinition {
    /// Name of the table.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [ColumnDefinition],
}

/// A column of an [`ExtraTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: &'static str,
    /// Type of its cells.
    pub kind: Kind,
    /// Meaning of its values.
    pub role: Role,
}

impl TableDefinition {
    /// Returns true if the rows are samples over time, and not totals.
    pub fn is_series(&self) -> bool {
        self.name.ends_with("_series")
    }

    /// Returns true if there is a column of this name.
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|one| one.name == column)
    }

    /// Returns true if `table` has this name and these columns.
    pub fn describes(&self, table: &ExtraTable) -> bool {
        let columns = table.columns.iter().map(|(name, cells)| (name.as_str(), cells.kind()));
        self.name == table.name && columns.eq(self.columns.iter().map(|one| (one.name, one.kind)))
    }
}

/// Lets a column of these cells stand in a row of [`extra_table!`](crate::extra_table).
macro_rules! cells_of {
    ($($kind:ident of $type:ty),+) => {
        $(impl From<Vec<$type>> for Cells {
            fn from(cells: Vec<$type>) -> Self {
                Self::$kind(cells)
            }
        }

        impl CellType for $type {
            const KIND: Kind = Kind::$kind;

            type Column = Vec<Self>;

            fn push(self, column: &mut Vec<Self>) {
                column.push(self);
            }
        })+
    };
}

cells_of!(Bool of bool, U32 of u32, U64 of u64, F64 of f64);

impl From<Vec<String>> for Cells {
    fn from(cells: Vec<String>) -> Self {
        Self::Text(cells.iter().collect())
    }
}

impl From<TextColumn> for Cells {
    fn from(column: TextColumn) -> Self {
        Self::Text(column.into())
    }
}

impl CellType for String {
    const KIND: Kind = Kind::Text;

    type Column = TextColumn;

    fn push(self, column: &mut TextColumn) {
        column.push(&self);
    }
}

impl Cells {
    fn kind(&self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::U32(_) => Kind::U32,
            Self::U64(_) => Kind::U64,
            Self::F64(_) => Kind::F64,
            Self::Text(_) => Kind::Text,
        }
    }
}

/// A table with a name and typed columns of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtraTable {
    name: String,
    columns: Vec<(String, Cells)>,
}

impl ExtraTable {
    /// A table of columns; [`extra_table!`](crate::extra_table) calls this with checked types.
    ///
    /// # Panics
    /// The name or a column's is no lower-case identifier, the name is one of [`Table::FIXED`], two
    /// columns have one name, or columns have different lengths: all defects of the declaration.
    pub fn new(name: &str, columns: Vec<(String, Cells)>) -> Self {
        assert!(is_name(name) && !is_fixed(name), "{name:?} is no name for an extra table");
        let mut names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.iter().all(|name| is_name(name)), "{name} has a column without a name");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), columns.len(), "two columns of {name} have one name");
        let lengths: Vec<usize> = columns.iter().map(|(_, cells)| cells.len()).collect();
        assert!(lengths.iter().all(|one| *one == lengths[0]), "{name} has columns of {lengths:?}");
        Self { name: name.to_owned(), columns }
    }

    /// The table as it was saved.
    pub(crate) fn read(name: &str, saved: &Saved<'_>) -> Result<Self, Error> {
        Ok(Self { name: name.to_owned(), columns: saved.columns()? })
    }

    /// Name of the table, and of its file before `.parquet`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table, or `None` if it has no rows.
    #[must_use]
    pub fn filled(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.columns.first().is_none_or(|(_, cells)| cells.len() == 0)
    }

    /// The columns; numbers are borrowed.
    pub fn columns(&self) -> Vec<Column<'_>> {
        let column = |(name, cells)| Column { name, values: Cells::values(cells) };
        self.columns.iter().map(|(name, cells)| (name.as_str(), cells)).map(column).collect()
    }
}

/// A lower-case identifier, so that a name is a file's name and a column's everywhere.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_fixed(name: &str) -> bool {
    Table::FIXED.iter().any(|table| table.fixed_name() == Some(name))
}

/// In `recording.json` a table is its name; its rows are in its own file.
impl Serialize for ExtraTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl<'de> Deserialize<'de> for ExtraTable {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let name = String::deserialize(source)?;
        if !is_name(&name) || is_fixed(&name) {
            let message = format!("expected the name of an extra table, found {name:?}");
            return Err(serde::de::Error::custom(message));
        }
        Ok(Self { name, columns: Vec::new() })
    }
}

/// Declares a table and its row: `name` is that of the table in the recording. Whole numbers are
/// counts, and others measures ([`Role`]), unless a mark says otherwise: `[count]`,
/// `[measure]` or `[number]`.
///
/// ```
/// recording::extra_table! {
///     /// Handovers between satellites.
///     pub Handovers("handovers") of Handover {
///         /// When it happened, in seconds.
///         t_s: f64,
///         /// Name of the satellite that took over.
///         satellite: String,
///         /// Number of the beam.
///         [number] beam: u32,
///         /// Bytes that waited.
///         queue_bytes: u64,
///     }
/// }
///
/// let mut handovers = Handovers::default();
/// handovers.push(Handover { t_s: 15.0, satellite: "s-7".into(), beam: 3, queue_bytes: 1500 });
/// let mut recording = recording::Recording::default();
/// recording.tables.push(handovers.into_table());
/// assert_eq!(recording.tables[0].columns()[1].name, "satellite");
/// assert!(Handovers::DEFINITION.describes(&recording.tables[0]));
/// ```
#[macro_export]
macro_rules! extra_table {
    ($(#[$doc:meta])* $visible:vis $table:ident($name:literal) of $row:ident {
        $($(#[$about:meta])* $([$mark:ident])? $field:ident: $type:ty),+ $(,)?
    }) => {
        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        $visible struct $row { $($(#[$about])* $visible $field: $type,)+ }

        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        $visible struct $table { $($field: <$type as $crate::CellType>::Column,)+ }

        impl $table {
            /// Name and columns of the table.
            $visible const DEFINITION: $crate::TableDefinition = $crate::TableDefinition {
                name: $name,
                columns: &[$({
                    let kind = <$type as $crate::CellType>::KIND;
                    let role = $crate::extra_table!(@role kind $($mark)?);
                    $crate::ColumnDefinition { name: stringify!($field), kind, role }
                },)+],
            };

            /// Appends a row.
            $visible fn push(&mut self, row: $row) {
                $($crate::CellType::push(row.$field, &mut self.$field);)+
            }

            /// The table for [`Recording::tables`]($crate::Recording::tables).
            $visible fn into_table(self) -> $crate::ExtraTable {
                $crate::ExtraTable::new(
                    Self::DEFINITION.name,
                    vec![$((stringify!($field).to_owned(), $crate::Cells::from(self.$field)),)+],
                )
            }
        }

        impl $crate::Rows for $table {
            const DEFINITION: $crate::TableDefinition = Self::DEFINITION;

            fn into_table(self) -> $crate::ExtraTable {
                self.into_table()
            }
        }
    };
    (@role $kind:ident) => { $kind.role() };
    (@role $kind:ident count) => { $crate::Role::Count };
    (@role $kind:ident measure) => { $crate::Role::Measure };
    (@role $kind:ident number) => { $crate::Role::Number };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "no name for an extra table")]
    fn the_name_of_a_fixed_table_is_refused() {
        let _ = ExtraTable::new("flows", vec![("t_s".into(), vec![1.0].into())]);
    }

    #[test]
    #[should_panic(expected = "columns of [1, 2]")]
    fn columns_of_different_lengths_are_refused() {
        let columns = vec![("a".into(), vec![1.0].into()), ("b".into(), vec![1_u32, 2].into())];
        let _ = ExtraTable::new("pairs", columns);
    }

    #[test]
    fn a_name_in_a_file_cannot_lead_out_of_its_folder() {
        for wrong in ["../../etc/passwd", "", "flows", "Upper", "a-b", "7"] {
            let text = format!("{wrong:?}");
            assert!(serde_json::from_str::<ExtraTable>(&text).is_err(), "{wrong}");
        }
        assert_eq!(serde_json::from_str::<ExtraTable>("\"acks\"").unwrap().name(), "acks");
    }
}
