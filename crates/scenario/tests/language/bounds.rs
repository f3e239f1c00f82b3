//! Warnings that say "cannot", "at most" or "at least", and figures of links that change.

use explain::{Explanation, WarningKind, explain};
use scenario::Loaded;

fn explained(text: &str) -> Explanation {
    let loaded = Loaded::parse(text, "bounds.toml", &[]);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    explain(&loaded.scenario, &loaded.written)
}

/// The messages of this kind.
fn found(explanation: &Explanation, kind: WarningKind) -> Vec<String> {
    let all = explanation.warnings.iter().filter(|warning| warning.kind == kind);
    all.map(|warning| warning.message.clone()).collect()
}

/// A link with these keys and flows from `a` to `b`.
fn scenario(link: &str, flows: &[&str]) -> String {
    let flow = |keys: &&str| format!("[[flow]]\nfrom = \"a\"\nto = \"b\"\n{keys}\n");
    let flows: String = flows.iter().map(flow).collect();
    format!("duration = \"60s\"\n[[link]]\nbetween = [\"a\", \"b\"]\n{link}\n{flows}")
}

const DOWNLOAD: &str = "controller = \"cubic\"\ntraffic = { download = \"50MB\" }";

/// ACKs are cumulative: a download passes although the return link loses most of them (RFC 3449).
#[test]
fn acks_that_fill_the_return_link_rule_nothing_out() {
    let link =
        "delay = \"250ms\"\nforward = { rate = \"20Mbit/s\" }\nbackward = { rate = \"32kbit/s\" }";
    for transport in ["", "transport = { protocol = \"quic\" }\n"] {
        let explanation = explained(&scenario(link, &[&format!("{transport}{DOWNLOAD}")]));
        let none: [String; 0] = [];
        assert_eq!(found(&explanation, WarningKind::CannotComplete), none);
        let [acks] = &*found(&explanation, WarningKind::AcksFillReturn) else { panic!() };
        assert!(!acks.contains("at most"), "{acks}");
        assert!(acks.contains("of payload on: above it ACKs wait, and are lost"), "{acks}");
    }
    let constant = "controller = \"cubic\"\ntraffic = { constant = { rate = \"8Mbit/s\" } }";
    let explanation = explained(&scenario(link, &[constant]));
    assert!(found(&explanation, WarningKind::Overload).is_empty());
    assert_eq!(found(&explanation, WarningKind::AcksFillReturn).len(), 1);
}

const GEO: &str = "rate = \"10Mbit/s\"\ndelay = \"250ms\"\nqueue = { bdp = 1 }";
const CALL: &str = "transport = { protocol = \"udp\" }\ntraffic = { call = { codec = \"g729a\" } }";

/// A window bounds its own flow, whatever shares the link.
#[test]
fn a_small_window_has_its_warning_beside_other_flows() {
    let narrow = format!("transport = {{ receive_buffer = \"330kB\" }}\n{DOWNLOAD}");
    let small = "controller = \"cubic\"\ntraffic = { download = \"1MB\" }";
    let page = "controller = \"cubic\"\ntraffic = { page = { site = \"news\" } }";
    for others in [&[][..], &[CALL], &[small], &[page], &[CALL, small, page]] {
        let flows: Vec<_> = [narrow.as_str()].into_iter().chain(others.iter().copied()).collect();
        let messages = found(&explained(&scenario(GEO, &flows)), WarningKind::WindowBelowBdp);
        let [message] = &*messages else { panic!("{others:?}: {messages:?}") };
        assert!(message.contains("at most 5.25Mbit/s of 9.65Mbit/s"), "{others:?}: {message}");
    }
    // Two fill the link together. Each has at most what its own window allows.
    let two = explained(&scenario(GEO, &[&format!("count = 2\n{narrow}")]));
    assert!(found(&two, WarningKind::WindowBelowBdp).is_empty());
    let narrower = narrow.replace("330kB", "200kB");
    let two = explained(&scenario(GEO, &[&format!("count = 2\n{narrower}")]));
    let messages = found(&two, WarningKind::WindowBelowBdp);
    assert!(messages[0].contains("at most 3.19Mbit/s of 9.65Mbit/s"), "{messages:?}");
    // The buffers of hosts have warnings of their own.
    let host = "host = \"linux-6.18\"\ncontroller = \"cubic\"\ntraffic = { bulk = \"unlimited\" }";
    let fast = GEO.replace("10Mbit/s", "1Gbit/s");
    for others in [&[][..], &[CALL]] {
        let flows: Vec<_> = [host].into_iter().chain(others.iter().copied()).collect();
        let explanation = explained(&scenario(&fast, &flows));
        let both = [WarningKind::ReceiveBufferBelowBdp, WarningKind::SendBufferBelowBdp];
        let buffers = both.map(|kind| found(&explanation, kind).len());
        assert_eq!(buffers, [1; 2], "{:?}", explanation.warnings);
    }
}

/// Datagrams have no window that a loss halves.
#[test]
fn a_small_queue_matters_to_flows_with_a_window_only() {
    let queue = "rate = \"20Mbit/s\"\ndelay = \"250ms\"";
    let bulk = "transport = { receive_buffer = \"32MiB\" }\ncontroller = \"cubic\"\n\
                traffic = { bulk = \"unlimited\" }";
    let messages =
        |flow: &str| found(&explained(&scenario(queue, &[flow])), WarningKind::SmallQueue);
    let none: [String; 0] = [];
    assert_eq!(messages(CALL), none);
    assert_eq!(messages(bulk).len(), 1);
    let answers = "transport = { protocol = \"udp\" }\ntraffic = { messages = {} }";
    assert_eq!(messages(answers), none);
}

/// A beam with `terminals` terminals, each of which downloads.
fn beam(terminals: usize) -> String {
    format!(
        "duration = \"60s\"\n[[link]]\nbetween = [\"server\", \"gateway\"]\nrate = \"1Gbit/s\"\n\
         delay = \"10ms\"\nqueue = \"unlimited\"\n[[beam]]\nname = \"spot\"\ngateway = \"gateway\"\n\
         forward = {{ modem = {{ name = \"dvb-s2\", bandwidth = 36e6 }} }}\n\
         return = {{ carriers = 20 }}\n[[beam.group]]\nname = \"a\"\nterminals = {terminals}\n\
         es_n0 = 13.0\nreturn_es_n0 = 9.0\n[[flow]]\nfrom = \"server\"\nto = \"a\"\n\
         controller = \"cubic\"\ntransport = {{ receive_buffer = \"32MiB\" }}\n\
         traffic = {{ bulk = \"unlimited\" }}\n"
    )
}

/// Each terminal has a queue and a return channel of its own, and BDP and rate are those of the
/// carrier which all share.
#[test]
fn a_carrier_is_shared_by_terminals_with_queues_and_channels_of_their_own() {
    let none: [String; 0] = [];
    for kind in [WarningKind::SmallQueue, WarningKind::AcksFillReturn] {
        assert_eq!(found(&explained(&beam(1)), kind).len(), 1, "{kind:?}");
        assert_eq!(found(&explained(&beam(10)), kind), none, "{kind:?}");
    }
}

/// Events change what a flow finds: the rate, the delay and the time of both.
#[test]
fn events_rule_out_what_the_start_seems_to() {
    let slow = "rate = \"100kbit/s\"\ndelay = \"20ms\"";
    let late = "start = \"2s\"\ncontroller = \"cubic\"\ntraffic = { download = \"10MB\" }";
    let cannot = |link: &str, flow: &str| {
        found(&explained(&scenario(link, &[flow])), WarningKind::CannotComplete)
    };
    assert_eq!(
        cannot(slow, late),
        ["cannot complete: at most 700kB of 10MB pass in the 58s that it has"]
    );
    let faster = format!("{slow}\nevent = [{{ at = \"1s\", rate = \"100Mbit/s\" }}]");
    let none: [String; 0] = [];
    assert_eq!(cannot(&faster, late), none);
    // At 2 Mbit/s for 58 s it would pass, and for 3 s it does not.
    let fast = "rate = \"2Mbit/s\"\ndelay = \"20ms\"";
    assert_eq!(cannot(fast, late), none);
    let slower = format!("{fast}\nevent = [{{ at = \"5s\", rate = \"1kbit/s\" }}]");
    assert_eq!(cannot(&slower, late).len(), 1);
    let silent = format!("{fast}\nevent = [{{ at = \"5s\", outage = \"100s\" }}]");
    assert_eq!(cannot(&silent, late).len(), 1);
    // With a random phase, the event may come after the run.
    let phased = scenario(&slower, &[late]).replacen("duration", "phase = \"random\"\nduration", 1);
    assert_eq!(found(&explained(&phased), WarningKind::CannotComplete), none);

    let far = "rate = \"20Mbit/s\"\ndelay = \"280ms\"";
    let near = format!("{far}\nevent = [{{ at = \"1s\", delay = \"20ms\" }}]");
    let later_call = format!("start = \"2s\"\n{CALL}");
    let calls = |link: &str| {
        found(&explained(&scenario(link, &[&later_call])), WarningKind::LongDelayOfCall).len()
    };
    assert_eq!((calls(far), calls(&near)), (1, 0));
    let narrow = format!("transport = {{ receive_buffer = \"330kB\" }}\n{DOWNLOAD}");
    let windows = |link: &str| {
        found(&explained(&scenario(link, &[&narrow])), WarningKind::WindowBelowBdp).len()
    };
    assert_eq!((windows(far), windows(&near)), (1, 0));
}

/// Values of the start are called so, with the range in the run.
#[test]
fn figures_of_links_with_events_have_ranges() {
    let plain = explained(&scenario(GEO, &[DOWNLOAD]));
    let figures = &plain.flows[0].figures;
    assert_eq!((figures.rate_range_bps, figures.rtt_range_ms), (None, None));
    assert!(!plain.to_string().contains("at the start"), "{plain}");
    let event = "event = [{ at = \"1s\", rate = \"1Mbit/s\", delay = \"20ms\" }, { at = \"70s\", rate = \"9Gbit/s\" }]";
    let changing = explained(&scenario(&format!("{GEO}\n{event}"), &[DOWNLOAD]));
    let figures = &changing.flows[0].figures;
    assert_eq!(figures.rate_range_bps, Some([1e6, 1e7]));
    let [least, most] = figures.rtt_range_ms.unwrap();
    assert!((least - 40.0).abs() < 1e-9 && (most - 500.0).abs() < 1e-9, "{least} to {most}");
    let text = changing.to_string();
    for part in [
        "500ms propagation at the start (40ms to 500ms in the run)",
        "10Mbit/s of IP packets at the start (1Mbit/s to 10Mbit/s in the run)",
        "segments at the start",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The outages of a trace count, with and without its rates.
#[test]
fn the_outages_of_a_trace_count_however_it_is_written() {
    let folder = tempfile::TempDir::new().unwrap();
    let explained = |columns: &str| {
        std::fs::write(folder.path().join("trace.csv"), columns).unwrap();
        let link = "rate = \"20Mbit/s\"\ndelay = \"250ms\"\nqueue = { bdp = 1 }\n\
                    trace = { file = \"trace.csv\", outside = \"hold\" }";
        let text = scenario(link, &[DOWNLOAD]);
        let loaded = Loaded::parse(&text, folder.path().join("traced.toml"), &[]);
        let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
        let queue = loaded.scenario.links[0].forward.queue;
        (explain(&loaded.scenario, &loaded.written), queue)
    };
    // Rows every 10 s, the last of which lasts as long. Five of seven are silent.
    let rows = |up: &str, down: &str| {
        let values = [up, down, down, down, down, down, up];
        let rows = values.iter().zip(0..).map(|(value, row)| format!("{},{value}\n", 10 * row));
        rows.collect::<String>()
    };
    let written = [
        format!("t_s,outage\n{}", rows("0", "1")),
        format!("t_s,rate_mbps,outage\n{}", rows("20,0", "20,1")),
        format!("t_s,rate_mbps\n{}", rows("20", "0")),
    ];
    let [first, second, third] = written.map(|columns| explained(&columns));
    for (one, queue) in [&first, &second, &third] {
        let figures = &one.flows[0].figures;
        assert!((figures.bottleneck_bps - 20e6 / 3.5).abs() < 1.0, "{}", figures.bottleneck_bps);
        assert!(figures.mean_rate);
        assert_eq!(*queue, first.1);
        assert_eq!(
            found(one, WarningKind::CannotComplete),
            ["cannot complete: at most 24.1MB of 50MB pass in the 60s that it has"]
        );
    }
    let silent = explained("t_s,outage\n0,1\n60,1\n").0;
    assert_eq!(found(&silent, WarningKind::NothingPasses).len(), 1);
    assert_eq!(found(&first.0, WarningKind::NothingPasses).len(), 0);
}

/// A queue that is short at the start takes longer where the rate falls.
#[test]
fn an_aqm_may_act_after_an_event() {
    let short = "rate = \"100Mbit/s\"\ndelay = \"20ms\"\nqueue = { packets = 20 }\naqm = \"codel\"";
    let idle = |link: &str| {
        found(&explained(&scenario(link, &[DOWNLOAD])), WarningKind::AqmWithoutEffect).len()
    };
    let slower = format!("{short}\nevent = [{{ at = \"9s\", rate = \"1Mbit/s\" }}]");
    assert_eq!((idle(short), idle(&slower)), (2, 0));
}

/// A full bucket lets a burst pass before its rate holds.
#[test]
fn a_bucket_lets_a_burst_pass_first() {
    let cannot = |burst: &str| {
        let link = format!(
            "rate = \"100Mbit/s\"\ndelay = \"20ms\"\nshaper = {{ rate = \"100kbit/s\", burst = \"{burst}\" }}"
        );
        let flow = "controller = \"cubic\"\ntraffic = { download = \"5MB\" }";
        found(&explained(&scenario(&link, &[flow])), WarningKind::CannotComplete).len()
    };
    assert_eq!((cannot("10kB"), cannot("10MB")), (1, 0));
}
