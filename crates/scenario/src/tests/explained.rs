//! What a user is told before a run.

use crate::{Loaded, explain};

fn example(name: &str) -> Loaded {
    let path = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Loaded::load(path, &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn the_examples_load_and_are_explained() {
    for name in ["geo-download", "geo-web", "fairness-six-rtts", "lossy-geo"] {
        let Loaded { scenario, written } = example(name);
        assert_eq!(scenario.name, name);
        insta::assert_snapshot!(name, explain(&scenario, &written));
    }
}
