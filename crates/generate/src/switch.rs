//! Switches of random scenarios: routers with two paths between them.

use serde_json::{Value as Json, json};

use crate::dice::Dice;
use crate::document::take;

/// Rules of switches, of which each has one.
const RULES: [&str; 3] = ["event", "outages", "bfd"];

/// Makes two paths between the routers of a switch, if one was drawn: the first link becomes a part
/// of the path over `leo`, and there is another path over `geo`.
pub(crate) fn fork(json: &mut Json, dice: &mut Dice) {
    let Some(mut switch) = json["switch"].as_array().and_then(|all| all.first()).cloned() else {
        take(json, "switch");
        return;
    };
    let drawn: Vec<_> = RULES.into_iter().filter(|rule| !switch[*rule].is_null()).collect();
    let rule = if drawn.is_empty() { "bfd" } else { *dice.pick(&drawn) };
    RULES.iter().filter(|other| **other != rule).for_each(|other| take(&mut switch, other));
    if switch[rule].is_null() {
        switch[rule] = json!({});
    }
    if rule != "event" {
        take(&mut switch, "lag");
    }
    let mut at = 0.0;
    for event in switch["event"].as_array_mut().into_iter().flatten() {
        at += dice.magnitude(1e-3, 2.0);
        event["at"] = format!("{at:.6}s").into();
        event["via"] = (*dice.pick(&["leo", "geo"])).into();
    }
    let [first, second] = [0, 1].map(|end| json["link"][0]["between"][end].clone());
    switch["between"] = json!([first, second]);
    switch["via"] = json!(["leo", "geo"]);
    json["switch"] = json!([switch]);
    json["link"][0]["between"][1] = "leo".into();
    let link = |from: &Json, to: &Json, delay: &str| json!({ "between": [from, to], "rate": "5Mbit/s", "delay": delay });
    let (leo, geo) = (json!("leo"), json!("geo"));
    let new = [link(&leo, &second, "1ms"), link(&first, &geo, "1s"), link(&geo, &second, "1s")];
    if let Some(links) = json["link"].as_array_mut() {
        links.extend(new);
    }
    json["flow"][0]["from"] = first;
    json["flow"][0]["to"] = second;
}
