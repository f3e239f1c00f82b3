//! Rain over a beam: the signals of a group in the weather cells of a file.

use std::sync::Arc;

use language::error::Problem;
use language::path::Path;
use language::suggest;
use link::{Acm, Fade, Modcod, Modem, Signal};
use units::{Span, Time};

use super::super::channels::Channels;
use crate::document;
use crate::fade::CellSeries;
use crate::model::CellSignal;

/// The cells of a beam; `None` without a file, or if it has faults.
pub(super) fn cells(
    written: &document::Beam,
    channels: &Channels<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Vec<CellSeries>> {
    let name = written.rain.as_ref()?;
    let cells = channels.cells(&name.0, &path.key("rain"));
    cells.map_err(|problem| problems.push(*problem)).ok()
}

/// A modem with its possible choices.
pub(super) struct Choices<'a> {
    pub modem: Modem,
    pub modcods: &'a [Modcod],
    pub duration: Span,
}

/// The signals of a group: one for each of its cells, or one for all of its terminals.
pub(super) fn signals(
    (written, group): (&document::Beam, &document::Group),
    cells: Option<&[CellSeries]>,
    choices: &Choices<'_>,
    channels: &Channels<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Vec<CellSignal> {
    let before = problems.len();
    problems.extend(misplaced(written, group, cells, path));
    let chosen = cells.map(|cells| of_group(group, cells));
    let number = chosen.as_ref().map_or(1, Vec::len).max(1);
    let signal = channels.signal_of(group.attenuation.as_ref(), &choices.modem, path, problems);
    problems.extend(channels.too_many_cells(number, &choices.modem, path));
    let of = |cell: Option<&str>, fade: Fade| {
        let &document::Group { es_n0, system_temperature, .. } = group;
        let signal = Signal { es_n0, system_temperature, fade };
        // Nothing is computed for what is refused.
        let duration =
            if problems.len() > before { Span::from_millis(1) } else { choices.duration };
        let acm = Acm::among(choices.modcods.to_vec(), choices.modem, signal, duration);
        CellSignal { cell: cell.map(str::to_owned), acm: Arc::new(acm) }
    };
    match chosen {
        Some(chosen) if !chosen.is_empty() => {
            let fade = |samples: &[(Time, f64)]| Fade::new(samples.to_vec());
            let signal = |(name, samples): &CellSeries| {
                of(Some(name), fade(samples).unwrap_or(Fade::constant(0.0)))
            };
            chosen.into_iter().map(signal).collect()
        }
        _ => vec![of(None, signal.fade)],
    }
}

/// The cells that a group is in: not more than it has terminals.
fn of_group<'a>(group: &document::Group, cells: &'a [CellSeries]) -> Vec<&'a CellSeries> {
    let named = |(name, _): &&CellSeries| group.cell.as_ref().is_none_or(|cell| cell.0 == *name);
    cells.iter().filter(named).take(group.terminals as usize).collect()
}

/// Rain that comes from two places, and cells that are not there.
fn misplaced(
    written: &document::Beam,
    group: &document::Group,
    cells: Option<&[CellSeries]>,
    path: &Path,
) -> Option<Problem> {
    if written.rain.is_some() && group.attenuation.is_some() {
        let expected = "no `attenuation` with `rain` of the beam";
        return Some(Problem::new(path.key("attenuation"), expected, "the key"));
    }
    let cell = group.cell.as_ref()?;
    let place = path.key("cell");
    if written.rain.is_none() {
        let expected = "`rain` of the beam with it";
        return Some(Problem::new(place, expected, format!("{:?} alone", cell.0)));
    }
    let cells = cells?;
    if cells.iter().any(|(name, _)| *name == cell.0) {
        return None;
    }
    let names: Vec<_> = cells.iter().map(|(name, _)| name.as_str()).collect();
    let expected = format!("a column of the file, {} to {}", names[0], names[names.len() - 1]);
    let problem = Problem::new(place, expected, format!("{:?}", cell.0));
    Some(problem.suggest(suggest::nearest(&cell.0, names.iter().copied())))
}
