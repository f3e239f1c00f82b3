//! Traces of orbits that were computed before.
//!
//! Each change of a scenario reads its orbit again. Half an hour over 1,584 satellites takes some
//! 20 ms, and the live page tries a hundred values. Equal tables give equal traces, so the last
//! traces are kept. An orbit that names files is computed each time, because its files may have
//! changed.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::trace::Trace;

use super::document::{Attenuation, Document};
use super::resolve::Run;

/// Most changes of the kept traces together: some megabytes.
const MOST_CHANGES: usize = 50_000;

/// Traces with their tables, the one that was used last at the end.
static KEPT: Mutex<VecDeque<(String, Trace)>> = Mutex::new(VecDeque::new());

/// The trace of an orbit in a run: the kept one of an equal orbit, or the one that `compute` gives.
pub(super) fn trace<E>(
    document: &Document,
    run: Run,
    compute: impl FnOnce() -> Result<Trace, E>,
) -> Result<Trace, E> {
    let Some(key) = key(document, run) else { return compute() };
    if let Some(found) = take(&key) {
        keep(key, found.clone());
        return Ok(found);
    }
    let trace = compute()?;
    keep(key, trace.clone());
    Ok(trace)
}

/// All that decides a trace, as a text; none for an orbit that names files.
fn key(document: &Document, run: Run) -> Option<String> {
    let attenuation = document.signal.as_ref().and_then(|signal| signal.attenuation.as_ref());
    let has_files = document.elements.is_some()
        || document.place.iter().any(|place| place.track.is_some())
        || matches!(attenuation, Some(Attenuation::File(_)));
    let text = (!has_files).then(|| serde_json::to_string(document).ok())??;
    Some(format!("{run:?} {text}"))
}

fn take(key: &str) -> Option<Trace> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let place = kept.iter().position(|(of, _)| of == key)?;
    kept.remove(place).map(|(_, trace)| trace)
}

fn keep(key: String, trace: Trace) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push_back((key, trace));
    let changes = |kept: &VecDeque<(String, Trace)>| -> usize {
        kept.iter().map(|(_, trace)| trace.changes.len()).sum()
    };
    while changes(&kept) > MOST_CHANGES {
        kept.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use units::Span;

    use super::*;
    use crate::model::Change;

    fn document(seed: u64) -> Document {
        let text = r#"{"constellation": "kuiper", "from": "Paris", "to": "Oslo"}"#;
        Document { seed, ..serde_json::from_str(text).unwrap() }
    }

    fn of_length(changes: usize) -> Trace {
        let (at, delay) = (Span::ZERO, Some(Span::from_millis(5)));
        let change = Change { at, every: None, rate: None, delay, outage: None, loss: None };
        Trace { changes: vec![change; changes], ..Trace::default() }
    }

    #[test]
    fn an_equal_orbit_is_not_computed_again_and_another_is() {
        let computed = Cell::new(0);
        let get = |document: &Document, run: Run| {
            let trace = trace(document, run, || {
                computed.set(computed.get() + 1);
                Ok::<_, ()>(of_length(3))
            });
            assert_eq!(trace.unwrap().changes.len(), 3);
            computed.get()
        };
        let run = Run { duration: Some(Span::from_secs(60)), ..Run::default() };
        assert_eq!(get(&document(1), run), 1);
        assert_eq!(get(&document(1), run), 1);
        assert_eq!(get(&document(2), run), 2);
        assert_eq!(get(&document(1), Run::default()), 3);
        assert_eq!(get(&document(1), run), 3);
        let file = serde_json::from_str("\"a.tle\"").unwrap();
        let elements = Document { elements: Some(file), ..document(1) };
        assert_eq!((get(&elements, run), get(&elements, run)), (4, 5));
    }

    #[test]
    fn a_long_trace_is_not_kept() {
        let run = Run { duration: Some(Span::from_secs(61)), ..Run::default() };
        let long = trace(&document(9), run, || Ok::<_, ()>(of_length(MOST_CHANGES + 1)));
        assert_eq!(long.unwrap().changes.len(), MOST_CHANGES + 1);
        assert!(take(&key(&document(9), run).unwrap()).is_none());
    }
}
