//! The default controller of new sockets in a network namespace. It is changed only on request, and
//! restored when the controller is unloaded.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::namespaces::{self, Namespace};

const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Earlier values of each namespace; gone with the next boot, as the defaults are.
const BEFORE: &str = "/run/bentpipe/default";
/// Where to go back to when that is not known: the one controller that every kernel has.
const FALLBACK: &str = "reno";

fn before(namespace: &Namespace, name: &str) -> PathBuf {
    Path::new(BEFORE).join(format!("{name}-{}", namespace.id))
}

fn current() -> Result<String, Error> {
    let text = fs::read_to_string(DEFAULT).map_err(|error| Error::refused(DEFAULT, error))?;
    Ok(text.trim().to_owned())
}

fn change(name: &str) -> Result<(), Error> {
    fs::write(DEFAULT, name).map_err(|error| Error::refused(format!("{DEFAULT} = {name}"), error))
}

/// Makes `name` the default of a namespace.
pub(crate) fn set(namespace: &Namespace, name: &str) -> Result<(), Error> {
    let had = namespace.run(|| {
        let had = current()?;
        change(name)?;
        Ok(had)
    })?;
    if leads_to(namespace, &had, name) {
        // It has a note, of the value before its first turn.
        return Ok(());
    }
    let note = before(namespace, name);
    fs::create_dir_all(BEFORE)
        .and_then(|()| fs::write(&note, had))
        .map_err(|error| Error::refused(note.display(), error))
}

/// Returns true if the notes of a namespace lead from the value `from` back to `name`.
fn leads_to(namespace: &Namespace, from: &str, name: &str) -> bool {
    let earlier = |value: &String| fs::read_to_string(before(namespace, value)).ok();
    // No more values than notes, so that a circle ends.
    std::iter::successors(Some(from.to_owned()), earlier)
        .take(1 + notes().len())
        .any(|value| value == name)
}

/// The namespaces whose default `name` is.
pub(crate) fn of(name: &str) -> Vec<Namespace> {
    let is_default =
        |namespace: &Namespace| namespace.run(current).is_ok_and(|default| default == name);
    namespaces::all().into_iter().filter(is_default).collect()
}

/// Gives all namespaces whose default `name` is what they had before.
pub(crate) fn put_back(name: &str) -> Result<(), Error> {
    for namespace in of(name) {
        let note = before(&namespace, name);
        let had = fs::read_to_string(&note);
        let had = had.as_deref().unwrap_or(FALLBACK);
        namespace.run(|| change(had).or_else(|_| change(FALLBACK)))?;
    }
    for (note, id) in notes_of(name) {
        let had = fs::read_to_string(&note).unwrap_or_else(|_| FALLBACK.to_owned());
        // Controllers that were set as default after this one return to the value before it.
        for later in notes().into_iter().filter(|later| is_in(later, &id)) {
            if fs::read_to_string(&later).is_ok_and(|value| value == name) {
                fs::write(&later, &had).map_err(|e| Error::refused(later.display(), e))?;
            }
        }
        fs::remove_file(&note).map_err(|e| Error::refused(note.display(), e))?;
    }
    Ok(())
}

/// All notes of earlier values.
fn notes() -> Vec<PathBuf> {
    fs::read_dir(BEFORE).into_iter().flatten().flatten().map(|note| note.path()).collect()
}

/// The notes of a controller, each with the number of its namespace.
fn notes_of(name: &str) -> Vec<(PathBuf, String)> {
    let notes = notes().into_iter();
    notes
        .filter_map(|note| {
            let file_name = note.file_name()?.to_str()?;
            let id = file_name.strip_prefix(name)?.strip_prefix('-')?.to_owned();
            Some((note, id))
        })
        .collect()
}

/// Returns true if a note is about the namespace with this number.
fn is_in(note: &Path, id: &str) -> bool {
    let name = note.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.rsplit_once('-')).is_some_and(|(_, number)| number == id)
}
