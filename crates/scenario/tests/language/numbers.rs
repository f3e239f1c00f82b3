//! Numbers beyond what the language can hold.

use scenario::Scenario;

fn refused(text: &str) -> String {
    Scenario::parse(text, "geo.toml", &[]).expect_err("it is refused").to_string()
}

#[test]
fn a_number_above_the_largest_is_refused_at_its_place() {
    for number in ["18446744073709551616", "99999999999999999999999999999999999999999"] {
        let text = refused(&format!("seed = {number}\n"));
        assert!(text.contains("geo.toml:1:8: seed: expected a whole number"), "{text}");
        assert!(text.contains("the largest is 18446744073709551615"), "{text}");
    }
}

#[test]
fn a_number_without_end_is_refused_in_a_short_line() {
    let link = "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\ndelay = \"1ms\"\nchannel = { per = inf }\n";
    let text = refused(link);
    assert!(text.contains("geo.toml:5:19: link[0].channel.per: expected a number"), "{text}");
    assert!(text.lines().all(|line| line.len() < 120), "{text}");
}
