//! A table as named columns, the common form for all readers by column (Parquet, Arrow, the
//! digest).

use std::borrow::Cow;
use std::ops::Range;

/// A column that may be null where its value says that there is none.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its values, one for each row.
    pub values: Values<'a>,
}

/// Values of a column. Series are borrowed or moved, never copied as a whole.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// Flags.
    Bool(Vec<bool>),
    /// Numbers of rows in other tables, and small counts.
    U32(Cow<'a, [u32]>),
    /// Counts and bytes.
    U64(Cow<'a, [u64]>),
    /// `u64::MAX` stands for "not yet known" and is null outside.
    U64OrUnset(Cow<'a, [u64]>),
    /// Numbers. A value that is not finite is null outside: JSON has no NaN, and statistics choke
    /// on it.
    F64(Cow<'a, [f64]>),
    /// Names.
    Text(Vec<&'a str>),
    /// Names of which there may be none.
    TextOrNone(Vec<Option<&'a str>>),
}

impl Values<'_> {
    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) | Self::U64OrUnset(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::TextOrNone(values) => values.len(),
        }
    }

    /// Returns true if the column may hold nulls. Decided by type and not by content, so that all
    /// files of a table have one schema.
    pub fn nullable(&self) -> bool {
        matches!(self, Self::U64OrUnset(_) | Self::F64(_) | Self::TextOrNone(_))
    }

    /// The value of a row as a number: true is one; `None` for null and for text.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Self::Bool(values) => Some(f64::from(u8::from(values[row]))),
            Self::U32(values) => Some(f64::from(values[row])),
            Self::U64(values) => Some(values[row] as f64),
            Self::U64OrUnset(values) => {
                Some(values[row]).filter(|v| *v != u64::MAX).map(|v| v as f64)
            }
            Self::F64(values) => Some(values[row]).filter(|v| v.is_finite()),
            Self::Text(_) | Self::TextOrNone(_) => None,
        }
    }

    /// Which of the rows hold a value; `None` when all do.
    pub fn valid(&self, rows: Range<usize>) -> Option<Vec<bool>> {
        let valid: Vec<bool> = match self {
            Self::U64OrUnset(values) => values[rows].iter().map(|v| *v != u64::MAX).collect(),
            Self::F64(values) => values[rows].iter().map(|v| v.is_finite()).collect(),
            Self::TextOrNone(values) => values[rows].iter().map(Option::is_some).collect(),
            _ => return None,
        };
        valid.contains(&false).then_some(valid)
    }
}

/// A column of a series by its name and cells.
pub(crate) trait Cell: Copy {
    fn column<'a>(name: &'static str, cells: Cow<'a, [Self]>) -> Column<'a>
    where
        [Self]: ToOwned<Owned = Vec<Self>>;
}

impl Cell for u32 {
    fn column<'a>(name: &'static str, cells: Cow<'a, [u32]>) -> Column<'a> {
        Column { name, values: Values::U32(cells) }
    }
}

impl Cell for u64 {
    fn column<'a>(name: &'static str, cells: Cow<'a, [u64]>) -> Column<'a> {
        // The only count that can be unset. Were every u64::MAX null, a counter that ran below
        // zero would hide as a null instead of standing out.
        let values = match name {
            "ssthresh_bytes" => Values::U64OrUnset(cells),
            _ => Values::U64(cells),
        };
        Column { name, values }
    }
}

impl Cell for f64 {
    fn column<'a>(name: &'static str, cells: Cow<'a, [f64]>) -> Column<'a> {
        Column { name, values: Values::F64(cells) }
    }
}
