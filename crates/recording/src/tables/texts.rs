//! Texts of a column. Names of flows and objects are in many rows, so each text is stored once.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The texts of a column, in the order of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Each text once, in the order in which they came.
    distinct: Vec<Arc<str>>,
    /// For each row the place of its text.
    places: Vec<u32>,
}

/// A column of texts while rows are added to it.
#[derive(Clone, Debug, Default)]
pub struct TextColumn {
    texts: Texts,
    /// The place of each text.
    known: BTreeMap<Arc<str>, u32>,
}

impl Texts {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The text of each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.places.iter().map(|place| &*self.distinct[*place as usize])
    }

    fn last(&self) -> Option<(u32, &str)> {
        let place = *self.places.last()?;
        Some((place, &self.distinct[place as usize]))
    }
}

impl TextColumn {
    /// Adds a row.
    ///
    /// # Panics
    /// There are more than 2^32 different texts, and memory is full before.
    pub fn push(&mut self, text: &str) {
        // Rows of one flow follow one another.
        let last = self.texts.last().filter(|(_, last)| *last == text).map(|(place, _)| place);
        let place = last.or_else(|| self.known.get(text).copied()).unwrap_or_else(|| {
            let place = self.texts.distinct.len().try_into().expect("memory is full before");
            let text: Arc<str> = text.into();
            self.texts.distinct.push(text.clone());
            self.known.insert(text, place);
            place
        });
        self.texts.places.push(place);
    }
}

impl From<TextColumn> for Texts {
    fn from(column: TextColumn) -> Self {
        column.texts
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut column = TextColumn::default();
        texts.into_iter().for_each(|text| column.push(text.as_ref()));
        column.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_order_and_each_text_is_stored_once() {
        let rows = ["a", "a", "page", "a", "", "page", "b"];
        let texts: Texts = rows.iter().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), rows);
        assert_eq!((texts.len(), texts.distinct.len()), (7, 4));
        assert_eq!(texts, rows.map(str::to_owned).iter().collect());
        assert!(Texts::default().is_empty());
    }
}
