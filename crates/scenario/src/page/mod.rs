//! Web pages with their objects: the keys of `traffic.page`, files of pages, and pages that are
//! built in.

pub(crate) mod document;
mod handshake;
mod objects;
mod resolve;

use std::path::Path as FilePath;

use language::{Errors, TypedFile};

use document::PageFile;
pub(crate) use resolve::{Place, resolve};

/// Reads a file with a page, and checks it.
///
/// # Errors
/// All errors of keys and values, of names and of dependencies.
pub fn check(path: &FilePath) -> Result<(), Errors> {
    resolve::file(path).map(drop)
}

/// The reference of the keys of a file in Markdown.
pub fn reference() -> String {
    TypedFile::<PageFile>::reference(3)
}

#[cfg(test)]
mod tests;
