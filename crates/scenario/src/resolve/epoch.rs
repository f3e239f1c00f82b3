//! The date and time of the start of a run.

use language::error::Problem;
use language::path::Path;
use orbit::Utc;

use crate::document::Document;

/// UTC at the start of a run.
pub(super) fn resolve(document: &Document, problems: &mut Vec<Problem>) -> Option<Utc> {
    let written = document.epoch.as_ref()?;
    let epoch = Utc::parse(written);
    if epoch.is_none() {
        let path = Path::default().key("epoch");
        let found = language::describe::quoted_short(written);
        problems.push(Problem::new(path, crate::orbit::DATE, found));
    }
    epoch
}
