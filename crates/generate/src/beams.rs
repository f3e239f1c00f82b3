//! Random scenarios with a beam: few terminals, with all schedulers, categories, schemes and
//! classes, and with proxies, middleboxes, tunnels and mechanisms of the link before the gateway.

use serde_json::{Value as Json, json};

use crate::dice::Dice;

/// A document with a beam of up to three groups, and flows over it. The language may refuse it.
pub fn beam(dice: &mut Dice) -> Json {
    let groups = 1 + dice.below(3);
    let names: Vec<String> = (0..groups).map(|number| format!("group{number}")).collect();
    let has_access = dice.chance(0.3);
    let mut flows: Vec<Json> =
        names.iter().enumerate().flat_map(|one| flows_of(one, dice)).collect();
    let mut beam = json!({
        "name": "spot",
        "gateway": "gateway",
        "forward": forward(dice),
        "return": back(has_access, dice),
        "group": names.iter().map(|name| group(name, has_access, dice)).collect::<Vec<_>>(),
    });
    if dice.chance(0.4) {
        beam["class"] = classes(&flows, dice);
    }
    let mut link = json!({
        "between": ["router", "gateway"],
        "rate": *dice.pick(&["2Mbit/s", "100Mbit/s"]),
        "delay": *dice.pick(&["1ms", "20ms"]),
    });
    mechanisms(&mut link, dice);
    // Routers do not see what is in a tunnel.
    if link.get("feedback").is_none() {
        for flow in &mut flows {
            if dice.chance(0.3) {
                flow["tunnel"] = tunnel(dice);
            }
        }
    }
    let mut document = json!({
        "duration": format!("{}s", 5 + dice.below(20)),
        "link": [
            { "between": ["server", "router"], "rate": "100Mbit/s", "delay": "1ms" },
            link,
        ],
        "beam": [beam],
        "flow": flows,
    });
    let mut nodes = Vec::new();
    for place in ["router", "gateway", &names[0], &format!("{}-1", names[0])] {
        if place != "router" && dice.chance(0.3) {
            nodes.push(json!({ "name": place, "proxy": proxy(dice) }));
        } else if dice.chance(0.3) {
            nodes.push(json!({ "name": place, "middlebox": middlebox(dice) }));
        }
    }
    if !nodes.is_empty() {
        document["node"] = nodes.into();
    }
    if dice.chance(0.3) {
        document["record"] = json!({ "interval": "500ms" });
    }
    document
}

/// Mechanisms of a link before a gateway.
fn mechanisms(link: &mut Json, dice: &mut Dice) {
    if dice.chance(0.3) {
        let icmp = *dice.pick(&["sent", "filtered"]);
        link["mtu"] = json!({ "bytes": 600 + dice.below(900), "icmp": icmp });
    }
    if dice.chance(0.3) {
        link["header_compression"] = (*dice.pick(&["vj", "rohc", "scps"])).into();
    }
    if dice.chance(0.2) {
        link["feedback"] = (*dice.pick(&["xcp", "quick-start"])).into();
    }
    if dice.chance(0.2) {
        link["channel"] = json!({ "per": 0.01 });
    }
}

/// A tunnel of a flow, from its terminal to the other end or to the gateway.
fn tunnel(dice: &mut Dice) -> Json {
    let mut tunnel = json!({
        "name": *dice.pick(&["wireguard", "esp", "openvpn", "masque"]),
        "established": dice.chance(0.5),
    });
    if tunnel["name"] == "masque" && dice.chance(0.5) {
        tunnel["controller"] = (*dice.pick(&["cubic", "bbr3"])).into();
        tunnel["buffer"] = "50kB".into();
        tunnel["capsules"] = dice.chance(0.5).into();
    }
    if dice.chance(0.2) {
        tunnel["between"] = json!(["server", "gateway"]);
    }
    tunnel
}

fn middlebox(dice: &mut Dice) -> Json {
    let names = [
        "ack-decimation",
        "ack-filter",
        "ack-reconstruction",
        "packet-control",
        "snoop",
        "spoofing-proxy",
    ];
    (*dice.pick(&names)).into()
}

/// A split proxy before or in the terminals.
fn proxy(dice: &mut Dice) -> Json {
    let mut proxy = json!({
        "accept": *dice.pick(&["early", "late"]),
        "limits": { "relay_buffer": *dice.pick(&["20kB", "1MB"]) },
        "satellite": { "controller": *dice.pick(&["hybla", "cubic", "bbr3"]) },
    });
    if dice.chance(0.3) {
        proxy["satellite"]["rate"] = (*dice.pick(&["500kbit/s", "20Mbit/s"])).into();
    }
    if dice.chance(0.3) {
        proxy["limits"]["connections"] = (1 + dice.below(4)).into();
        proxy["limits"]["at_limit"] = (*dice.pick(&["pass", "refuse"])).into();
    }
    proxy
}

fn forward(dice: &mut Dice) -> Json {
    let mut forward = json!({
        "modem": {
            "name": *dice.pick(&["dvb-s2", "dvb-s2x"]),
            "bandwidth": *dice.pick(&[0.3e6, 1e6, 5e6]),
        },
        "pilots": dice.chance(0.5),
        "dummy_frames": dice.chance(0.5),
        "fragmentation": dice.chance(0.7),
        "hold": *dice.pick(&["0ms", "5ms", "100ms"]),
        "scheduler": *dice.pick(&["fifo", "equal-rate", "equal-airtime"]),
        "buffer": *dice.pick(&["5kB", "50kB", "1MB"]),
    });
    if forward["modem"]["name"] == "dvb-s2" && dice.chance(0.4) {
        forward["frames"] = "short".into();
    }
    if forward["scheduler"] != "fifo" && dice.chance(0.3) {
        forward["aqm"] = json!({ "name": "fq-codel", "flows": 1 + dice.below(16) });
    }
    forward
}

fn back(has_access: bool, dice: &mut Dice) -> Json {
    let mut back = json!({
        "carriers": 1 + dice.below(3),
        "bursts": *dice.pick(&["short", "long"]),
        "frame": *dice.pick(&["20ms", "100ms"]),
        "buffer": *dice.pick(&["5kB", "400kB"]),
    });
    if has_access {
        back["access"] = match dice.below(3) {
            0 => json!({ "scheme": "slotted-aloha" }),
            1 => json!({ "scheme": "dsa", "replicas": 2 + dice.below(3) }),
            _ => json!({ "scheme": "crdsa", "iterations": 1 + dice.below(20) }),
        };
        back["access"]["packets"] = dice.chance(0.7).into();
        back["access"]["tries"] = (1 + dice.below(6)).into();
        back["access"]["load"] = if dice.chance(0.5) { json!(0.4) } else { json!("none") };
    }
    back
}

fn group(name: &str, has_access: bool, dice: &mut Dice) -> Json {
    let mut group = json!({
        "name": name,
        "terminals": 1 + dice.below(5),
        "es_n0": 3.0 + dice.unit() * 12.0,
        "return_es_n0": 4.0 + dice.unit() * 8.0,
        "requests": *dice.pick(&["none", "rbdc", "vbdc", "avbdc"]),
        "fca": dice.chance(0.5),
        "random_access": has_access && dice.chance(0.8),
    });
    if group["requests"] == "none" {
        group["fca"] = true.into();
    }
    if dice.chance(0.3) {
        group["cra"] = "16kbit/s".into();
    }
    if dice.chance(0.4) {
        group["attenuation"] = (dice.unit() * 8.0).into();
    }
    if dice.chance(0.3) {
        let rate = *dice.pick(&["100kbit/s", "2Mbit/s"]);
        let allowance = json!({
            "volume": "100kB", "window": "100s", "reduced_rate": "50kbit/s", "used": "20kB",
        });
        let mut plan = json!({ "rate": rate });
        if dice.chance(0.5) {
            plan["allowance"] = allowance;
        }
        let way = *dice.pick(&["down", "up"]);
        group["plan"] = json!({ way: plan });
    }
    group
}

/// Flows of a group: one to it, and maybe one from it.
fn flows_of((number, name): (usize, &String), dice: &mut Dice) -> Vec<Json> {
    let traffic = [
        json!({ "bulk": "unlimited" }),
        json!({ "download": "60kB" }),
        json!({ "web": { "pages": 1 } }),
    ];
    let ends = [("server", name.as_str()), (name.as_str(), "server")];
    let both = if dice.chance(0.6) { 2 } else { 1 };
    let flow = |way: usize, dice: &mut Dice| {
        json!({
            "name": format!("flow{number}{way}"),
            "from": ends[way].0,
            "to": ends[way].1,
            "controller": *dice.pick(&["cubic", "reno", "bbr3"]),
            "spread": *dice.pick(&["0s", "1s", "4s"]),
            "traffic": dice.pick(&traffic[..if way == 0 { 3 } else { 2 }]).clone(),
        })
    };
    (0..both).map(|way| flow(way, dice)).collect()
}

fn classes(flows: &[Json], dice: &mut Dice) -> Json {
    let mut class = json!({ "name": "first", "flows": [flows[0]["name"].clone()] });
    if dice.chance(0.5) {
        class["weight"] = (1 + dice.below(8)).into();
    }
    json!([class])
}
