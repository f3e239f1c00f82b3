//! The tables of `docs/kernel-replay.md`.

use std::fmt::Write as _;
use std::path::Path;

use crate::{ModuleRow, Row};

/// The lines around a table of a page.
pub(crate) type Lines = [&'static str; 2];
pub(crate) const KERNEL: Lines = ["<!-- replay_kernel: begin -->\n", "<!-- replay_kernel: end -->"];
pub(crate) const MODULES: Lines =
    ["<!-- replay_kernel modules: begin -->\n", "<!-- replay_kernel modules: end -->"];

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

/// The rows of public modules as Markdown, with the release of the kernel's sources.
pub(crate) fn of_modules(release: &str, rows: &[ModuleRow]) -> String {
    let mut table = format!(
        "Compared on {}, with headers of {release}.\n\n\
         | controller | module | settings | paths | ACKs | cwnd within 1 % (% of ACKs) | pacing rate \
         within 1 % (% of ACKs) | why not more |\n|---|---|---|---|---|---|---|---|\n",
        today()
    );
    for ModuleRow { pair, module, paths, followed } in rows {
        let share = |near: u64| 100.0 * near as f64 / followed.acks.max(1) as f64;
        let name = [pair.controller, &pair.parameters()].join(" ");
        let numbers: Vec<_> =
            pair.numbers.iter().map(|(name, value)| format!("`{name}={value}`")).collect();
        let _ = writeln!(
            table,
            "| `{}` | {module} | {} | {paths} | {} | {:.2} | {:.2} | {} |",
            name.trim(),
            numbers.join(" "),
            followed.acks,
            share(followed.near_windows),
            share(followed.near_rates),
            pair.reason.unwrap_or(""),
        );
    }
    table
}

/// The date, as the system's program for it prints it.
fn today() -> String {
    let printed = std::process::Command::new("date").args(["-u", "+%F"]).output();
    let date = printed.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    date.map_or_else(|| "an unknown day".to_owned(), |date| date.trim().to_owned())
}

/// Replaces the table of a page between two lines.
pub(crate) fn write(page: &Path, [begin, end]: Lines, table: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(page).map_err(failed)?;
    let parts = text.split_once(begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(end)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        return Err(format!("{}: no lines {} and {end}", page.display(), begin.trim_end()));
    };
    std::fs::write(page, format!("{before}{begin}{table}{end}{after}")).map_err(failed)
}
