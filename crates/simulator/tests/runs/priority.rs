//! Probes of low priority and the queues that let them give way.

use crate::{geo, run, run_with_seed};

/// Goodput of one flow with `controller` over a GEO link in five minutes, in bit/s, as the mean of
/// three seeds.
fn alone(controller: &str, queue: &str, channel: &str) -> f64 {
    let text = geo(
        &format!("rate = \"2Mbit/s\"\nqueue = {queue}\nforward = {{ channel = {channel} }}"),
        "receive_buffer = \"1MB\"",
        "bulk = \"unlimited\"",
    );
    let text = text.replace("newreno", controller).replace("3000s", "300s");
    let goodput = |seed| run_with_seed(&text, seed).flows[0].goodput_bps;
    (1..=3).map(goodput).sum::<f64>() / 3.0
}

const PUSH_OUT: &str = "{ packets = 60, low_priority = \"push-out\" }";
const REFUSE: &str = "{ packets = 60, low_priority = \"refuse\" }";
const IGNORE: &str = "{ packets = 60 }";

/// A queue that refuses probes as soon as it fills lets fewer of them through.
#[test]
fn probes_tell_errors_from_congestion() {
    let errors = "{ per = 1e-3 }";
    let reno = alone("reno", PUSH_OUT, errors);
    for controller in ["peach", "peach-plus", "cherry"] {
        let [push_out, refuse] = [PUSH_OUT, REFUSE].map(|queue| alone(controller, queue, errors));
        assert!(push_out > 2.0 * reno, "{controller}: {push_out}, reno: {reno} bit/s");
        assert!(refuse > 1.1 * reno, "{controller}: {refuse}, reno: {reno} bit/s");
        assert!(refuse < push_out, "{controller}: {refuse}, {push_out} bit/s");
    }
}

#[test]
fn where_losses_are_congestion_probes_gain_little() {
    let newreno = alone("newreno", PUSH_OUT, "\"perfect\"");
    for controller in ["peach", "peach-plus", "cherry"] {
        let gain = alone(controller, PUSH_OUT, "\"perfect\"") / newreno;
        assert!((0.95..1.08).contains(&gain), "{controller}: {gain}");
    }
}

/// Share of the fair goodput that four flows of standard TCP get when competing with four that
/// probe.
fn left_to_newreno(queue: &str) -> f64 {
    let text = geo(
        &format!("rate = \"2Mbit/s\"\nqueue = {queue}"),
        "receive_buffer = \"128kB\"",
        "bulk = \"unlimited\"",
    );
    let flow = text[text.find("[[flow]]").unwrap()..].replace("newreno", "peach");
    let text = format!("{text}count = 4\n{flow}count = 4\n").replace("3000s", "300s");
    let goodput: Vec<_> = run(&text).flows.iter().map(|flow| flow.goodput_bps).collect();
    2.0 * goodput[..4].iter().sum::<f64>() / goodput.iter().sum::<f64>()
}

/// Queues that know nothing of priority let probes take the place of data. A queue that probes
/// only enter while it is nearly empty protects others best.
#[test]
fn queues_protect_standard_tcp_from_probes() {
    let [ignore, push_out, refuse] = [IGNORE, PUSH_OUT, REFUSE].map(left_to_newreno);
    assert!(ignore < 0.5 * push_out, "{ignore}, {push_out}");
    assert!(push_out < refuse, "{push_out}, {refuse}");
    assert!((0.85..1.15).contains(&refuse), "{refuse}");
}

/// Without congestion one round trip of probes finds the window that slow start takes many for.
#[test]
fn the_start_with_probes_is_over_in_two_round_trips() {
    let text = geo(
        "rate = \"10Mbit/s\"\nqueue = { packets = 400, low_priority = \"push-out\" }",
        "receive_buffer = \"600kB\", initial_window = 1",
        "download = \"1500kB\"",
    );
    let seconds =
        |controller: &str| run(&text.replace("newreno", controller)).flows[0].completion_s.unwrap();
    let (newreno, peach, cherry) = (seconds("newreno"), seconds("peach"), seconds("cherry"));
    assert!(peach < newreno - 1.5 && cherry < newreno - 1.5, "{newreno}, {peach}, {cherry}");
}

/// Before, the data of Cherry's supplements and of Peach+'s copies was delivered and not counted as
/// sent. A dummy carries nothing that the receiver takes.
#[test]
fn throughput_has_the_data_of_probes_and_is_not_below_goodput() {
    for controller in ["peach", "peach-plus", "cherry", "newreno"] {
        let text = geo(
            &format!("rate = \"2Mbit/s\"\nqueue = {PUSH_OUT}\nchannel = {{ per = 1e-3 }}"),
            "receive_buffer = \"1MB\"",
            "bulk = \"unlimited\"",
        );
        let text = text.replace("newreno", controller).replace("3000s", "120s");
        let recording = run(&(text + "[record]\ninterval = \"1s\"\n"));
        let flow = &recording.flows[0];
        let (goodput, throughput) = (flow.goodput_bps, flow.throughput_bps);
        assert!(throughput >= goodput, "{controller}: {throughput} below {goodput} bit/s");
        let probes = flow.tcp().unwrap().probes_sent;
        assert_eq!(probes > 0, controller != "newreno", "{controller}: {probes} probes");
        let series = &recording.flow_series;
        assert_eq!(series.probes_sent.last(), Some(&probes));
        let rows = series.sent_bytes.iter().zip(&series.delivered_bytes);
        assert!(rows.clone().all(|(sent, delivered)| sent >= delivered), "{controller}");
        if controller == "peach" {
            let segment = 1448;
            let sent = flow.tcp().unwrap().segments_sent * segment;
            assert!(series.sent_bytes.last().is_some_and(|bytes| *bytes <= sent));
        }
    }
}
