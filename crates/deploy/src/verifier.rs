//! Output of libbpf and the kernel's verifier while a program is loaded.

use std::sync::{Mutex, MutexGuard, PoisonError};

use libbpf_rs::{PrintLevel, set_print};

static SAID: Mutex<String> = Mutex::new(String::new());
/// Lines of an answer that are worth showing.
const LAST_LINES: usize = 12;

fn said() -> MutexGuard<'static, String> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remember(_level: PrintLevel, text: String) {
    said().push_str(&text);
}

/// Runs `work`, and gives its error with the last lines of what was said.
pub(crate) fn listening<T>(work: impl FnOnce() -> libbpf_rs::Result<T>) -> Result<T, String> {
    said().clear();
    let before = set_print(Some((PrintLevel::Warn, remember)));
    let result = work();
    set_print(before);
    result.map_err(|error| {
        let said = said();
        let lines: Vec<_> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        if last.is_empty() { error.to_string() } else { format!("{error}\n{last}") }
    })
}
