//! The table of `docs/kernel-replay.md`.

use std::fmt::Write as _;
use std::path::Path;

use crate::Row;

const BEGIN: &str = "<!-- replay_kernel: begin -->\n";
const END: &str = "<!-- replay_kernel: end -->";

/// The rows as Markdown, with the release of the sources.
pub(crate) fn markdown(release: &str, rows: &[Row]) -> String {
    let sequences = rows.first().map_or(0, |row| row.outcomes.len());
    let mut table = format!(
        "{sequences} sequences for each pair, controllers of {release}.\n\n\
         | controller | kernel | steps | same cwnd (%) | max. difference (segments) | sequences that \
         differ | first difference (segments) | why |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let steps: u64 = row.outcomes.iter().map(|outcome| outcome.steps).sum();
        let same: u64 = row.outcomes.iter().map(|outcome| outcome.same).sum();
        let agreeing = row.outcomes.iter().filter(|outcome| outcome.disagreement.is_none());
        let largest = agreeing.map(|outcome| outcome.difference).fold(0.0, f64::max);
        let name = [row.pair.controller, &row.pair.parameters()].join(" ");
        let _ = writeln!(
            table,
            "| `{}` | `{}` | {steps} | {:.2} | {largest:.2} | {} | {} | {} |",
            name.trim(),
            row.pair.kernel,
            100.0 * same as f64 / steps.max(1) as f64,
            row.disagreeing(),
            row.first().map_or_else(String::new, ToString::to_string),
            row.pair.reason.unwrap_or("")
        );
    }
    table
}

/// Replaces the table of a page.
pub(crate) fn write(page: &Path, table: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(page).map_err(failed)?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        return Err(format!("{}: no lines {} and {END}", page.display(), BEGIN.trim_end()));
    };
    std::fs::write(page, format!("{before}{BEGIN}{table}{END}{after}")).map_err(failed)
}
