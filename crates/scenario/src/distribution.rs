//! Distributions in the format of iproute2: whole numbers with blanks between them, `#` for
//! comments.
//!
//! netem's `tc` reads `/usr/lib/tc/NAME.dist` for `distribution NAME`, and the kernel takes 16-bit
//! values, at most 16384 of them.

use std::path::Path as FilePath;

use language::describe::quoted_short;
use link::MOST_VALUES;

use crate::fade::{Fault, content};

/// Reads the values of a distribution, of which there is at least one.
pub(crate) fn read(file: &FilePath) -> Result<Vec<i16>, Box<Fault>> {
    let what = "whole numbers from -32768 to 32767, as in /usr/lib/tc/normal.dist";
    let bytes = content(file, what)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Box::new(Fault::new(None, what, "bytes that are no UTF-8")))?;
    let mut values: Vec<i16> = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#')) {
        for word in line.split_whitespace() {
            let value = word.parse();
            values.push(value.map_err(|_| Fault::new(Some(number), what, quoted_short(word)))?);
            if values.len() > MOST_VALUES {
                let expected = format!("at most {MOST_VALUES} values, as netem has it");
                return Err(Fault::new(Some(number), expected, "another one").into());
            }
        }
    }
    match values.is_empty() {
        true => Err(Fault::new(None, what, "none").into()),
        false => Ok(values),
    }
}
