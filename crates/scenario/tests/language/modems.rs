//! Modems: the rate that follows, what is refused, and what the explanation has.

use std::fmt::Write;

use language::Errors;
use tempfile::TempDir;
use units::Span;

use explain::{WarningKind, explain};
use scenario::Loaded;
use scenario::model::Channel;

/// 15 dB for 10 s, 5 dB within 40 s, and back after 100 s.
const FADE: &str = "0,0\n10,0\n50,10\n100,10\n140,0\n200,0\n";

/// A link whose keys are `link`, in a folder with a fade.
fn load(link: &str) -> Result<Loaded, Errors> {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("fade.csv"), FADE).unwrap();
    std::fs::write(folder.path().join("trace.csv"), "t_s,rate_mbps\n0,2\n300,3\n").unwrap();
    let text = format!(
        "duration = \"200s\"\n[[link]]\nbetween = [\"a\", \"b\"]\ndelay = \"250ms\"\n{link}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\ncontroller = \"reno\"\n\
         traffic = {{ bulk = \"unlimited\" }}\n"
    );
    Loaded::parse(&text, folder.path().join("acm.toml"), &[])
}

fn loaded(link: &str) -> Loaded {
    load(link).unwrap_or_else(|errors| panic!("{errors}"))
}

const MODEM: &str = "channel = { es_n0 = 15.5, modem = \"dvb-s2\", attenuation = \"fade.csv\" }";

#[test]
fn the_rate_follows_from_signal_and_bandwidth() {
    let both = loaded(MODEM).scenario;
    let link = &both.links[0];
    // 32APSK 5/6: 4.11954 bits in each of 30 million symbols.
    assert_eq!(link.forward.rate.bits_per_second(), 123_586_200);
    assert_eq!(link.backward.rate, link.forward.rate);
    assert_eq!(link.forward.dynamics(), Some("modem"));
    assert_eq!(link.forward.lowest_rate().bits_per_second(), 47_615_880);
    let own = MODEM.replace("channel", "forward.channel");
    let one = loaded(&format!("rate = \"1Mbit/s\"\n{own}")).scenario;
    assert_eq!(one.links[0].backward.rate.bits_per_second(), 1_000_000);
    assert_eq!(one.links[0].forward.rate, link.forward.rate);
    let table = "forward.channel = { es_n0 = 20, modem = { name = \"dvb-s2x\", bandwidth = 1e6, \
                 roll_off = 0.25, margin = 0, hysteresis = 0, interval = \"1s\", delay = \"2s\" } }";
    let constant = loaded(&format!("rate = \"1Mbit/s\"\n{table}")).scenario;
    // 256APSK 3/4 in 800,000 symbols.
    assert_eq!(constant.links[0].forward.rate.bits_per_second(), 4_720_684);
    assert_eq!(constant.links[0].forward.dynamics(), None);
    let Channel::Acm { acm, .. } = &constant.links[0].forward.channel else { panic!("a modem") };
    assert_eq!(acm.modem().settings().delay, Span::from_secs(2));
}

#[test]
fn modems_that_cannot_be() {
    let rate = "rate = \"1Mbit/s\"";
    let modem = |modem: &str| format!("channel = {{ es_n0 = 15, modem = {modem} }}");
    let wrong = [
        (modem("\"dvb-s3\""), "link[0].channel.modem"),
        (modem("{ bandwidth = 1e6 }"), "link[0].channel.modem.name"),
        (modem("{ name = \"dvb-s2\", bandwidth = 10 }"), "link[0].channel.modem.bandwidth"),
        (modem("{ name = \"dvb-s2\", interval = \"1us\" }"), "link[0].channel.modem.interval"),
        (format!("{rate}\n{MODEM}"), "link[0].rate"),
        (format!("{MODEM}\nforward.rate = \"1Mbit/s\""), "link[0].forward.rate"),
        (format!("{MODEM}\nevent = [{{ at = \"1s\", {rate} }}]"), "link[0].event[0].rate"),
        (format!("{MODEM}\ntrace = \"trace.csv\""), "link[0].trace"),
        (
            format!("{MODEM}\nqueue = {{ packets = 9, low_priority = \"push-out\" }}"),
            "link[0].channel.modem",
        ),
    ];
    let mut all = String::new();
    for (link, path) in wrong {
        let found = load(&link).unwrap_err();
        let paths: Vec<_> = found.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, [path], "{found}");
        let text = found.to_string();
        // Without the folder of the test.
        let text = text.split_once("acm.toml").map_or(text.clone(), |(_, rest)| rest.to_owned());
        writeln!(all, "# {link}\n{text}\n").unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn the_explanation_has_rates_and_losses() {
    let found = loaded(MODEM);
    let explanation = explain(&found.scenario, &found.written);
    let printed = explanation.to_string();
    for part in ["32APSK 5/6", "30 million symbols per second", "packets are lost for 0s"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let kinds = |link: &str| {
        let found = loaded(link);
        let warnings = explain(&found.scenario, &found.written).warnings;
        warnings.iter().any(|warning| warning.kind == WarningKind::NoModcod)
    };
    assert!(!kinds(MODEM));
    // 3 dB less than nothing is left at the deepest.
    assert!(kinds(&MODEM.replace("15.5", "7")));
}
