//! Totals of a web page and its objects.

use super::record::record;

record! {
    ($) page_record;
    /// One web page.
    PageRecord {
        /// Time of the request in seconds.
        start_s: f64,
        /// Page load time in seconds: until the last byte of the last object; None if incomplete.
        response_s: Option<f64>,
        /// Its objects, the main one first.
        objects: Vec<ObjectRecord>,
    }
}

record! {
    ($) object_record;
    /// One object of a web page.
    ObjectRecord {
        /// Size in bytes.
        bytes: u64,
        /// Time of its request in seconds.
        start_s: f64,
        /// Time from the request to the last byte in seconds; None if incomplete.
        response_s: Option<f64>,
    }
}
