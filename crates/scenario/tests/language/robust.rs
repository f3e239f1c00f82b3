//! Whatever is written, the answer is a scenario or an error, never a panic.

use language::check::check;
use language::tree::Tree;
use proptest::prelude::*;

use explain::explain;
use scenario::{Loaded, NewValue, Override, schema};

const EXAMPLES: [&str; 7] = [
    include_str!("../../../../examples/fade.toml"),
    include_str!("../../../../examples/geo-download.toml"),
    include_str!("../../../../examples/geo-web.toml"),
    include_str!("../../../../examples/geo-bursts.toml"),
    include_str!("../../../../examples/handover.toml"),
    include_str!("../../../../examples/fairness-six-rtts.toml"),
    include_str!("../../../../examples/lossy-geo.toml"),
];

/// Pieces that are likely to bring a parser into trouble, or past it.
const PIECES: &[&str] = &[
    "",
    "\"",
    "'",
    "[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\n",
    "\r\n",
    "\t",
    "#",
    "é",
    "\u{feff}",
    "0",
    "-1",
    "1e400",
    "nan",
    "inf",
    "99999999999999999999",
    "\"0B\"",
    "\"0s\"",
    "\"1e300GB\"",
    "\"unlimited\"",
    "\"off\"",
    "[[link]]",
    "[[flow]]",
    "[[node]]",
    "name = \"a\"",
    "count = 1000",
    "true",
    "2026-01-01",
    "server",
    "client",
    "forward",
    "channel",
    "per = 1",
    "ber = 1.0",
    "mean_loss = 0.5, mean_burst = 1",
    "eb_n0 = 5, code = \"uncoded\"",
    "attenuation = 3",
    "lock.threshold = 4",
];

/// Fails only by panicking, or by an error that points outside of the text.
fn read(text: &str, sets: &[Override]) {
    match Loaded::parse(text, "fuzz.toml", sets) {
        Ok(loaded) => {
            let explanation = explain(&loaded.scenario, &loaded.written);
            assert!(!explanation.to_string().contains("NaN"), "{explanation}");
        }
        Err(errors) => {
            assert!(!errors.0.is_empty());
            let lines = text.lines().count().max(1);
            assert!(errors.0.iter().all(|e| e.place.line.is_none_or(|line| line <= lines + 1)));
            let told = errors.to_string();
            assert!(!told.contains("a value that the language admits"), "{told}");
        }
    }
}

fn boundary(text: &str, at: prop::sample::Index) -> usize {
    let boundaries: Vec<_> = text.char_indices().map(|(i, _)| i).collect();
    if boundaries.is_empty() { 0 } else { *at.get(&boundaries) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_of_a_scenario_panics(
        example in 0..EXAMPLES.len(),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..12usize, prop::sample::select(PIECES)),
            1..6,
        ),
    ) {
        let mut text = EXAMPLES[example].to_owned();
        for (at, cut, piece) in edits {
            let start = boundary(&text, at);
            let end = text[start..].char_indices().nth(cut).map_or(text.len(), |(i, _)| start + i);
            text.replace_range(start..end, piece);
        }
        read(&text, &[]);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        read(&text, &[]);
    }

    #[test]
    fn no_override_panics(
        path in "(link|flow|node|record|seed|name)?([.\\[](0|1|9|\\*|rate|forward|transport|controller|mss|x|)\\]?){0,5}",
        value in prop::sample::select(PIECES),
    ) {
        let set = Override { path, value: NewValue::Typed(value.to_owned()) };
        EXAMPLES.iter().for_each(|text| read(text, std::slice::from_ref(&set)));
    }

    /// The check and the types are one: what the check lets through, the types take.
    #[test]
    fn what_the_schema_admits_the_types_take(json in generate::admitted(&schema())) {
        prop_assert_eq!(check(&Tree::from_json(&json), &schema()).len(), 0, "{}", json);
        if let Err(errors) = Loaded::from_json(&json, &[]) {
            let told = errors.to_string();
            prop_assert!(!told.contains("a value that the language admits"), "{} {}", told, json);
        }
    }
}
