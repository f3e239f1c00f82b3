//! Reduction of a scenario with a finding: whatever the finding does not need is left out.

use scenario::Loaded;
use serde_json::Value as Json;

use crate::examination::{Finding, examine};

/// Attempts that a reduction makes; each is an examination.
const MOST_ATTEMPTS: usize = 400;

/// The smallest document found in which `finding` is found too, and what is found there.
pub fn reduced(json: &Json, seed: u64, finding: &Finding) -> (Json, Finding) {
    let (mut json, mut finding) = (json.clone(), finding.clone());
    let mut attempts = 0;
    let mut progresses = true;
    while std::mem::take(&mut progresses) {
        for path in generate::paths(&json) {
            if attempts == MOST_ATTEMPTS {
                return (json, finding);
            }
            let Some(less) = generate::without(&json, &path) else { continue };
            let Ok(loaded) = Loaded::from_json(&less, &[]) else { continue };
            attempts += 1;
            if let Err(found) = examine(&loaded, seed, None)
                && found.check == finding.check
            {
                (json, finding) = (less, found);
                progresses = true;
            }
        }
    }
    (json, finding)
}

/// A document as the scenario file that a user would write.
pub fn written(json: &Json, seed: u64) -> String {
    match Loaded::from_json(json, &[]) {
        Ok(loaded) => loaded.given.to_toml(&loaded.scenario, seed),
        Err(errors) => format!("# {errors}\n# {json}\n"),
    }
}
