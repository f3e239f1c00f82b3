//! The simulated TCP and the kernel, for random scripts.

use std::thread;

use drill::random::{Bench, Stimulus, prologue, record, record_again, trace};
use drill::{Failure, Rigour, Script};

use crate::host::Kernel;
use crate::simulated::{Profile, Simulated};

/// As `RIGOUR` of the other scripts. Ranges of times in random scripts already contain the steps of
/// the kernel's timers.
const RIGOUR: Rigour = Rigour { complete: true, push: false, ..Rigour::PACKETDRILL };

/// Records on the simulated TCP and plays on the kernel.
pub struct Hosts;

impl Bench for Hosts {
    fn record(&self, stimulus: &Stimulus) -> Result<String, String> {
        let calls = drill::parse("random", &prologue(stimulus)).map_err(|e| e.to_string())?;
        record(stimulus, &mut Simulated::new(Profile::Linux, &calls))
    }

    fn play(&self, script: &Script) -> Result<Option<Failure>, String> {
        // A thread of its own: it stays in its namespace.
        let play = || {
            let mut host = Kernel::new()?;
            Ok(drill::play(script, &mut host, RIGOUR).err())
        };
        thread::scope(|scope| {
            scope.spawn(play).join().unwrap_or_else(|_| Err("the host panicked".to_owned()))
        })
    }
}

impl Hosts {
    /// Packets of the simulated TCP and of the kernel for one script.
    pub fn traces(&self, script: &Script) -> Result<[String; 2], String> {
        let simulated = trace(script, &mut Simulated::new(Profile::Linux, script))?;
        let kernel = thread::scope(|scope| {
            let play = || trace(script, &mut Kernel::new()?);
            scope.spawn(play).join().unwrap_or_else(|_| Err("the host panicked".to_owned()))
        })?;
        Ok([simulated, kernel])
    }

    /// The script of a stimulus with what the kernel sends, if that is the same each time.
    pub fn record_of_kernel(&self, stimulus: &Stimulus) -> Result<String, String> {
        let simulated = self.record(stimulus)?;
        let text = thread::scope(|scope| {
            let record = || record_again(stimulus, &simulated, &mut Kernel::new()?);
            scope.spawn(record).join().unwrap_or_else(|_| Err("the host panicked".to_owned()))
        })?;
        let script = drill::parse("random", &text).map_err(|error| error.to_string())?;
        for _ in 0..2 {
            if let Some(failure) = self.play(&script)? {
                return Err(failure.to_string());
            }
        }
        Ok(text)
    }
}
