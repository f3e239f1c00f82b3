//! Traces of random scenarios from logs of other programs, whose columns a table names.

use serde_json::{Map, Value as Json};

use crate::dice::Dice;

/// Sources of a trace that exclude the columns of a log.
const OTHERS: [&str; 4] = ["deliveries", "delays", "orbit", "step"];

/// The quantity of a column, such as `delay` for `rtt_ms`: a log has one column for each.
fn quantity(key: &str) -> &str {
    match key.split('_').next().unwrap_or(key) {
        "achieved" => "rate",
        "rtt" => "delay",
        own => own,
    }
}

/// Names for some of the columns of `log.csv`, a time among them.
pub(crate) fn columns<'a>(keys: impl Iterator<Item = &'a str>, dice: &mut Dice) -> Json {
    let mut keys: Vec<_> = keys.collect();
    for last in (1..keys.len()).rev() {
        keys.swap(last, dice.below(last + 1));
    }
    let (mut named, mut quantities) = (Map::new(), Vec::new());
    for key in keys {
        let own = quantity(key);
        let is_needed = own == "t" || quantities.len() < 2;
        if !quantities.contains(&own) && (is_needed || dice.chance(0.5)) {
            quantities.push(own);
            named.insert(key.to_owned(), format!("log {key}").into());
        }
    }
    Json::Object(named)
}

/// Gives a trace with names of columns the log that has them, and no other source.
pub(crate) fn settle(trace: &mut Map<String, Json>, log: &str) {
    if trace.contains_key("columns") {
        OTHERS.iter().for_each(|key| drop(trace.remove(*key)));
        trace.insert("file".to_owned(), log.into());
    }
}
