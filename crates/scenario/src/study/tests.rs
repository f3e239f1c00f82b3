use super::*;

const STUDY: &str = r#"scenario = "small.toml"

[parameters]
second = { path = "link.0.delay", range = { from = "100ms", to = "200ms", step = "100ms" } }
first = { path = "flow.0.controller", values = ["newreno", "hybla"] }

[replications]
count = 20

[[quantity]]
name = "flow.completion_s"
"#;

fn read(text: &str) -> Result<StudySource, Errors> {
    let source = Source { file: Some("study.toml".into()), text: text.into(), sets: Vec::new() };
    let tree = source.parse()?;
    StudySource::checked(source, tree)
}

/// Line, path and suggestion of each error of the study with one change.
fn wrong(right: &str, wrong: &str) -> Vec<(Option<usize>, String, Option<String>)> {
    assert!(STUDY.contains(right));
    let errors = read(&STUDY.replacen(right, wrong, 1)).unwrap_err().0;
    errors.into_iter().map(|e| (e.place.line, e.path, e.suggestion)).collect()
}

fn one(
    line: usize,
    path: &str,
    suggestion: Option<&str>,
) -> Vec<(Option<usize>, String, Option<String>)> {
    vec![(Some(line), path.into(), suggestion.map(str::to_owned))]
}

#[test]
fn a_study_keeps_the_order_of_its_parameters() {
    let study = read(STUDY).unwrap();
    let labels: Vec<_> = study.document()["parameters"].as_object().unwrap().keys().collect();
    assert_eq!(labels, ["second", "first"]);
    assert_eq!(study.document()["quantity"][0]["interval"], "student");
}

#[test]
fn errors_have_their_line_and_the_nearest_name() {
    assert_eq!(wrong("range =", "rnage ="), one(4, "parameters.second", Some("`range`")));
    assert_eq!(wrong("step =", "stp ="), one(4, "parameters.second.range", Some("`step`")));
    assert_eq!(wrong("count", "cuont"), one(8, "replications", Some("`count`")));
    assert_eq!(wrong("count = 20", "count = 0"), one(8, "replications.count", None));
    assert_eq!(wrong("[[quantity]]", "[[quantty]]").len(), 2, "unknown, and missing");
    let empty = r#"["newreno", "hybla"]"#;
    assert_eq!(wrong(empty, "[]"), one(5, "parameters.first.values", None));
    assert_eq!(wrong("\"hybla\"", "[1]"), one(5, "parameters.first.values[1]", None));
    assert_eq!(wrong("\"small.toml\"", "{}"), one(1, "scenario", None));
    assert_eq!(wrong("\"small.toml\"", "{ a = 1 }"), one(1, "scenario.a", None));
}

#[test]
fn a_value_can_be_a_table() {
    let table = r#"{ name = "hybla", rtt0 = 0.05 }"#;
    let study = read(&STUDY.replace("\"hybla\"", table)).unwrap();
    let value = &study.document()["parameters"]["first"]["values"][1];
    assert_eq!(*value, serde_json::json!({ "name": "hybla", "rtt0": 0.05 }));
}

#[test]
fn keys_of_the_other_form_are_not_accepted() {
    let both = "count = 20\nminimum = 3";
    let errors = read(&STUDY.replace("count = 20", both)).unwrap_err().0;
    assert_eq!(errors[0].path, "replications.minimum");
    assert!(errors[0].reason.as_ref().unwrap().contains("`quantity`"), "{errors:?}");
}

#[test]
fn further_problems_are_reported_in_the_order_of_the_file() {
    let study = read(STUDY).unwrap();
    let problem = |path: &[&str]| StudyProblem {
        path: path.iter().map(|key| Step::Key((*key).to_owned())).collect(),
        expected: "this".into(),
        found: "that".into(),
        reason: None,
        suggestion: None,
    };
    let errors = study.report(vec![
        problem(&["parameters", "first", "path"]),
        problem(&["parameters", "second", "range", "to"]),
    ]);
    let places: Vec<_> = errors.0.iter().map(|e| (e.place.line, e.place.column)).collect();
    assert_eq!(places, [(Some(4), Some(66)), (Some(5), Some(18))]);
    assert!(errors.to_string().contains("| "), "an excerpt of the line");
}

#[test]
fn a_scenario_is_no_study() {
    let errors = read("[[link]]\n").unwrap_err().0;
    assert_eq!((errors.len(), errors[0].found.as_str()), (1, "a scenario"));
}
