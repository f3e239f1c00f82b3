//! Channels, with the attenuation series that they read.

use std::path::Path as FilePath;
use std::sync::Arc;

use language::error::{Place, Problem};
use language::path::Path;
use language::suggest;
use language::tree::Tree;
use link::{BurstLength, Bursts, Code, CorrelatedErrors, Fade};
use orbit::Utc;
use units::{Span, Time};

use crate::document::{self, Attenuation, Awgn, Signal};
use crate::fade::{self, CellSeries};
use crate::given::located;
use crate::model::Channel;

/// Measurements of a modem in a run.
const MOST_MEASUREMENTS: u64 = 10_000_000;
/// Changes of a channel with bursts in time in a run.
const MOST_CHANGES: f64 = 1e8;

/// The context of channels.
pub(super) struct Channels<'a> {
    pub tree: &'a Tree,
    /// Folder of the scenario file.
    pub directory: &'a FilePath,
    pub duration: Span,
    /// UTC at the start of the run.
    pub epoch: Option<Utc>,
}

impl Channels<'_> {
    /// The channel that was written at `path`.
    pub fn resolve(
        &self,
        channel: &document::Channel,
        path: &Path,
        problems: &mut Vec<Problem>,
    ) -> Channel {
        match channel {
            document::Channel::Perfect(_) => Channel::Perfect,
            &document::Channel::PacketErrors { per, correlation } => match correlation > 0.0 {
                true => Channel::Correlated(CorrelatedErrors::new(per, correlation)),
                false => Channel::PacketErrors { per },
            },
            document::Channel::BitErrors { ber, ecc_threshold } => {
                Channel::BitErrors { ber: *ber, ecc_threshold: *ecc_threshold }
            }
            &document::Channel::Bursts { mean_loss, mean_burst, loss_in_burst, loss_in_gap } => {
                let mean_burst = mean_burst.resolve();
                let bursts = Bursts { mean_loss, mean_burst, loss_in_burst, loss_in_gap };
                problems.extend(impossible(&bursts, path));
                problems.extend(self.too_many_changes(&bursts, path));
                Channel::Bursts(bursts)
            }
            document::Channel::Awgn(awgn) => self.awgn(awgn, path, problems),
            document::Channel::Signal(signal) => self.signal(signal, path, problems),
        }
    }

    /// Bursts so short that a run would do little else than change between the two states.
    fn too_many_changes(&self, bursts: &Bursts, path: &Path) -> Option<Problem> {
        let changes = bursts.changes_in(self.duration);
        (changes > MOST_CHANGES).then(|| {
            let expected =
                format!("at most {MOST_CHANGES} changes of the channel in the `duration`");
            Problem::new(path.key("mean_burst"), expected, format!("{changes:.0}"))
        })
    }

    fn signal(&self, signal: &Signal, path: &Path, problems: &mut Vec<Problem>) -> Channel {
        let modem = signal.modem.resolve();
        let &Signal { es_n0, system_temperature, .. } = signal;
        let attenuation = signal.attenuation.as_ref();
        let before = problems.len();
        let faded = self.signal_of(attenuation, &modem, path, problems);
        // Nothing is computed for what is refused.
        let is_refused = problems.len() > before;
        let duration = if is_refused { modem.settings().interval } else { self.duration };
        let signal = link::Signal { es_n0, system_temperature, ..faded };
        let acm = Arc::new(link::Acm::new(modem, signal, duration));
        Channel::Acm { acm, file: self.file_of(attenuation) }
    }

    /// A signal of 0 dB with the attenuation that was written at `path`. The choices of a modem for
    /// it are bounded.
    pub fn signal_of(
        &self,
        attenuation: Option<&Attenuation>,
        modem: &link::Modem,
        path: &Path,
        problems: &mut Vec<Problem>,
    ) -> link::Signal {
        let (fade, _) = self.fade_or_problem(attenuation, path, problems);
        let interval = modem.settings().interval;
        let measurements = self.duration.as_nanos() / interval.as_nanos().max(1);
        let too_many = fade.samples().len() > 1 && measurements > MOST_MEASUREMENTS;
        problems.extend(too_many.then(|| {
            let expected = format!("at most {MOST_MEASUREMENTS} measurements in the `duration`");
            let path = path.key("modem").key("interval");
            let problem = Problem::new(path, expected, measurements.to_string());
            problem.because("the choices of the modem are computed before the run")
        }));
        link::Signal { es_n0: 0.0, system_temperature: None, fade }
    }

    /// The series of all weather cells of the file `name`, which was written at `path`.
    pub fn cells(&self, name: &str, path: &Path) -> Result<Vec<CellSeries>, Box<Problem>> {
        let file = located(self.tree.nearest(path), self.directory, name);
        let what = "a column for each weather cell";
        let cells = fade::cells(&file, what).map_err(|fault| unreadable(*fault, &file, path))?;
        cells.first().map_or(Ok(()), |(_, samples)| self.covers(samples, path))?;
        Ok(cells)
    }

    /// Choices of a modem in too many cells.
    pub fn too_many_cells(
        &self,
        cells: usize,
        modem: &link::Modem,
        path: &Path,
    ) -> Option<Problem> {
        let interval = modem.settings().interval.as_nanos().max(1);
        let each = self.duration.as_nanos() / interval;
        let measurements = each.saturating_mul(cells as u64);
        (cells > 1 && measurements > MOST_MEASUREMENTS).then(|| {
            let expected =
                format!("at most {MOST_MEASUREMENTS} measurements in the `duration` in all cells");
            let problem = Problem::new(path.key("cell"), expected, measurements.to_string());
            problem.because("the choices of the modem are computed before the run")
        })
    }

    /// The file that an attenuation is read from.
    pub fn file_of(&self, attenuation: Option<&Attenuation>) -> Option<String> {
        match attenuation? {
            Attenuation::Constant(_) => None,
            Attenuation::File(name) => Some(name.0.clone()),
            Attenuation::Series(series) => Some(series.file.0.clone()),
        }
    }

    fn awgn(&self, awgn: &Awgn, path: &Path, problems: &mut Vec<Problem>) -> Channel {
        let code = Code::ALL.iter().find(|(name, _)| *name == awgn.code.0);
        let code = code.map_or(Code::Uncoded, |(_, code)| *code);
        let (fade, file) = self.fade_or_problem(awgn.attenuation.as_ref(), path, problems);
        let lock = awgn.lock.map(|lock| link::Lock {
            threshold: lock.threshold,
            hysteresis: lock.hysteresis,
            reacquisition: lock.reacquisition,
        });
        problems.extend(lock.and_then(|lock| never_found(awgn.eb_n0, &lock, path)));
        let awgn = link::Awgn::new(link::Budget {
            eb_n0: awgn.eb_n0,
            code,
            errors_per_event: awgn.errors_per_event.unwrap_or(code.errors_per_event()),
            system_temperature: awgn.system_temperature,
            fade,
            lock,
        });
        Channel::Awgn { awgn: Arc::new(awgn), file }
    }

    /// The fade of the channel at `path`, and the name of the file that it was read from; clear sky
    /// where it cannot be read.
    fn fade_or_problem(
        &self,
        attenuation: Option<&Attenuation>,
        path: &Path,
        problems: &mut Vec<Problem>,
    ) -> (Fade, Option<String>) {
        self.fade(attenuation, &path.key("attenuation")).unwrap_or_else(|problem| {
            problems.push(*problem);
            (Fade::constant(0.0), None)
        })
    }

    /// The fade, and the name of the file that it was read from.
    fn fade(
        &self,
        attenuation: Option<&Attenuation>,
        path: &Path,
    ) -> Result<(Fade, Option<String>), Box<Problem>> {
        let (name, path, hold, gaps) = match attenuation {
            None => return Ok((Fade::constant(0.0), None)),
            Some(Attenuation::Constant(constant)) => return Ok((Fade::constant(*constant), None)),
            Some(Attenuation::File(name)) => (name, path.clone(), false, false),
            Some(Attenuation::Series(series)) => {
                let (hold, gaps) = (series.outside.is_some(), series.gaps.is_some());
                (&series.file, path.key("file"), hold, gaps)
            }
        };
        let file = located(self.tree.nearest(&path), self.directory, &name.0);
        let samples = fade::read(&file, gaps).map_err(|fault| unreadable(*fault, &file, &path))?;
        if !hold {
            self.covers(&samples, &path)?;
        }
        // What `read` returns has rising times.
        let fade = Fade::new(samples).unwrap_or(Fade::constant(0.0));
        Ok((fade, Some(name.0.clone())))
    }

    /// A run without attenuation where the series ends would look like clear sky, and nobody asked
    /// for that.
    fn covers(&self, samples: &[(Time, f64)], path: &Path) -> Result<(), Box<Problem>> {
        let Some((expected, found)) = fade::uncovered(samples, self.duration) else {
            return Ok(());
        };
        let problem = Problem::new(path.clone(), expected, found);
        let reason = "the table { file = …, outside = \"hold\" } extends its first and last value";
        let is_cells = path.to_string().ends_with("rain");
        Err(if is_cells { problem } else { problem.because(reason) }.into())
    }
}

/// A fault of the file as a problem of the scenario that names it.
pub(crate) fn unreadable(fault: fade::Fault, file: &FilePath, path: &Path) -> Box<Problem> {
    let fade::Fault { place, expected, found, reason } = fault;
    let exists = file.is_file();
    let found = if exists { found } else { format!("{:?}: {found}", file.display().to_string()) };
    let problem = Problem::new(path.clone(), expected, found);
    let problem = Problem { reason, ..problem };
    Box::new(match exists {
        true => {
            let place = Place { file: Some(file.to_owned()), ..place };
            Problem { elsewhere: Some(Box::new(place)), ..problem }
        }
        false => problem.suggest(neighbour(file)),
    })
}

/// The file in the folder of a missing one that was probably meant.
fn neighbour(file: &FilePath) -> Option<String> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = std::fs::read_dir(directory.unwrap_or(FilePath::new("."))).ok()?;
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".csv") || name.ends_with(".parquet"))
        .collect();
    names.sort();
    let name = file.file_name()?.to_str()?;
    suggest::nearest(name, names.iter().map(String::as_str))
}

/// Between two bursts there is at least one packet, or some time, in the good state.
fn impossible(bursts: &Bursts, path: &Path) -> Option<Problem> {
    let &Bursts { mean_loss, loss_in_burst, loss_in_gap, .. } = bursts;
    if loss_in_gap >= loss_in_burst || loss_in_gap > mean_loss {
        let expected = match loss_in_gap >= loss_in_burst {
            true => format!("less than the `loss_in_burst` of {loss_in_burst:?}"),
            false => format!("at most the `mean_loss` of {mean_loss:?}"),
        };
        return Some(Problem::new(path.key("loss_in_gap"), expected, format!("{loss_in_gap:?}")));
    }
    let (largest, loss) = (bursts.largest_mean_loss(), bursts.mean_loss);
    let lost = format!("in which {} of the packets are lost", bursts.loss_in_burst);
    let (expected, reason) = match bursts.mean_burst {
        BurstLength::Packets(packets) if loss > largest => (
            format!("a mean loss of at most {largest:.4} with these bursts"),
            format!(
                "at least one packet gets through between two bursts of {packets} packets on \
                 average, {lost}"
            ),
        ),
        BurstLength::Time(time) if loss >= largest => (
            format!("a mean loss below {largest:.4} with these bursts"),
            format!("some time passes between two bursts of {time} on average, {lost}"),
        ),
        _ => return None,
    };
    let problem = Problem::new(path.key("mean_loss"), expected, format!("{loss:?}"));
    Some(problem.because(reason))
}

/// A demodulator that cannot find the signal of a clear sky.
fn never_found(eb_n0: f64, lock: &link::Lock, path: &Path) -> Option<Problem> {
    let needed = lock.threshold + lock.hysteresis;
    (needed > eb_n0).then(|| {
        let expected = format!("threshold + hysteresis of at most `eb_n0`, {eb_n0}dB");
        let path = path.key("lock").key("threshold");
        let found = format!("{} + {}dB", lock.threshold, lock.hysteresis);
        let problem = Problem::new(path, expected, found);
        problem.because("lock that is lost would never come back, not even in clear sky")
    })
}
