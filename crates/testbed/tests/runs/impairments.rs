//! Random impairments of links under real packets: delays of a distribution, packets that overtake
//! each other.

use std::fs;
use std::path::PathBuf;

use recording::Values;
use serde_json::{Value, json};
use testbed::{Program, shell};

use super::{fetching, is_skipped, scenario};

/// Datagrams of one run.
const DATAGRAMS: usize = 1500;

/// A folder of a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bentpipe-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Sends datagrams with their number and time, one each two milliseconds, from the server to the
/// client over a link with `keys`. Returns the numbers in their order of arrival, and the delays in
/// milliseconds.
fn datagrams(name: &str, keys: Value) -> Vec<(usize, f64)> {
    let folder = folder(name);
    let send = format!(
        "import socket, struct, time\n\
         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         time.sleep(0.5)\n\
         for n in range({DATAGRAMS}):\n\
         \x20   s.sendto(struct.pack('!qq', n, time.monotonic_ns()) + bytes(100), ('client', 7000))\n\
         \x20   time.sleep(0.002)\n\
         time.sleep(60)"
    );
    let receive = "import socket, struct, sys, time\n\
         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)\n\
         s.bind(('', 7000))\n\
         s.settimeout(2.0)\n\
         out = open(sys.argv[1], 'w')\n\
         try:\n\
         \x20   while True:\n\
         \x20       data = s.recv(200)\n\
         \x20       n, sent = struct.unpack('!qq', data[:16])\n\
         \x20       out.write(f'{n} {time.monotonic_ns() - sent}\\n')\n\
         except TimeoutError: pass";
    let program = |host: &str, text: &str| Program {
        host: Some(host.to_owned()),
        command: ["python3", "-c", text].map(Into::into).to_vec(),
    };
    let (server, mut client) = (program("server", &send), program("client", receive));
    let out = folder.join("datagrams");
    client.command.push(out.clone().into_os_string());
    let link = json!({ "rate": "100Mbit/s", "delay": "50ms", "forward": keys });
    let ran = shell(&scenario(link, json!({})), 1, &client, std::slice::from_ref(&server)).unwrap();
    assert_eq!(ran.status, 0);
    let text = fs::read_to_string(&out).unwrap();
    let row = |line: &str| {
        let (number, nanos) = line.split_once(' ').unwrap();
        (number.parse().unwrap(), nanos.parse::<f64>().unwrap() / 1e6)
    };
    let rows = text.lines().map(row).collect();
    fs::remove_dir_all(&folder).unwrap();
    rows
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (variance / values.len() as f64).sqrt())
}

#[test]
fn real_datagrams_have_the_delays_of_the_distribution_and_overtake_each_other_only_where_jitter_reorders()
 {
    if is_skipped() {
        return;
    }
    for (reorder, correlation) in [(true, 0.0), (true, 0.9), (false, 0.0)] {
        let jitter = json!({ "variation": "8ms", "distribution": "normal", "reorder": reorder,
                             "correlation": correlation });
        let rows = datagrams("jitter", json!({ "jitter": jitter }));
        assert_eq!(rows.len(), DATAGRAMS);
        let in_order = rows.iter().map(|(number, _)| number).is_sorted();
        assert_eq!(in_order, !reorder);
        let mut delays = vec![0.0; DATAGRAMS];
        rows.iter().for_each(|(number, delay)| delays[*number] = *delay);
        let (mean, deviation) = moments(&delays);
        let pairs = delays.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
        let found = pairs.sum::<f64>() / DATAGRAMS as f64 / deviation.powi(2);
        if reorder {
            // Four standard errors of 1500 delays, 4.4 times as large with the correlation; and
            // half a millisecond of this machine.
            let margin = if correlation > 0.0 { 4.1 } else { 1.4 };
            assert!((mean - 50.0).abs() < margin, "{mean}");
            assert!((deviation / 8.0 - 1.0).abs() < 0.3, "{deviation}");
            assert!((found - correlation).abs() < 0.11, "{found} and {correlation}");
        } else {
            // Packets wait for the one before them.
            assert!(mean > 53.0 && found > 0.3, "{mean}, {found}");
        }
    }
}

#[test]
fn real_datagrams_are_sent_at_once_or_arrive_twice() {
    if is_skipped() {
        return;
    }
    let rows = datagrams("at-once", json!({ "reorder": { "probability": 0.5, "gap": 5 } }));
    assert_eq!(rows.len(), DATAGRAMS);
    let at_once: Vec<_> = rows.iter().filter(|(_, delay)| *delay < 25.0).collect();
    let late = rows.iter().filter(|(_, delay)| *delay >= 50.0).count();
    assert_eq!(at_once.len() + late, DATAGRAMS);
    // One in six; five standard deviations are 30.
    assert!(at_once.len().abs_diff(DATAGRAMS / 6) < 30, "{}", at_once.len());
    let mut numbers: Vec<_> = at_once.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] >= 5), "{numbers:?}");
    let rows = datagrams("twice", json!({ "duplicate": 0.2 }));
    let mut times = vec![0; DATAGRAMS];
    rows.iter().for_each(|(number, _)| times[*number] += 1);
    assert!(times.iter().all(|times| *times == 1 || *times == 2));
    let copies = times.iter().filter(|times| **times == 2).count();
    // Five standard deviations of the binomial distribution are 78.
    assert!(copies.abs_diff(DATAGRAMS / 5) < 78, "{copies}");
}

/// Packets wait for a slot of 40 ms, each two milliseconds one: about 20 of them arrive together.
#[test]
fn real_datagrams_arrive_in_slots() {
    if is_skipped() {
        return;
    }
    let rows = datagrams("slots", json!({ "slot": { "min_delay": "40ms" } }));
    assert_eq!(rows.len(), DATAGRAMS);
    assert!(rows.iter().map(|(number, _)| number).is_sorted());
    let delays: Vec<_> = rows.iter().map(|(_, delay)| *delay).collect();
    let (mean, _) = moments(&delays);
    // From 50 ms to 90 ms, evenly.
    assert!(delays.iter().all(|delay| *delay >= 50.0), "{mean}");
    assert!((mean - 70.0).abs() < 3.0, "{mean}");
    // The delay falls from packet to packet within a slot, and jumps with the next one.
    let slots = 1 + delays.windows(2).filter(|pair| pair[1] > pair[0] + 5.0).count();
    let per_slot = DATAGRAMS as f64 / slots as f64;
    assert!((15.0..21.0).contains(&per_slot), "{per_slot}");
}

#[test]
fn real_datagrams_are_lost_with_the_share_that_a_correlation_leaves() {
    if is_skipped() {
        return;
    }
    let channel = json!({ "per": 0.4, "correlation": 0.5 });
    let rows = datagrams("correlated", json!({ "channel": channel }));
    let expected = link::CorrelatedErrors::new(0.4, 0.5).mean_loss;
    let lost = 1.0 - rows.len() as f64 / DATAGRAMS as f64;
    // Five standard deviations of 1500 packets whose neighbours are correlated; independent losses
    // would be 0.4.
    assert!((lost - expected).abs() < 0.1 && lost < 0.4, "{lost} of {expected}");
}

/// TCP gets duplicates, reports them as DSACK (RFC 2883), and its payload is whole.
#[test]
fn real_tcp_reports_segments_that_arrive_twice() {
    if is_skipped() {
        return;
    }
    let folder = folder("twice-tcp");
    let payload: Vec<u8> = (0..1_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, mut client) = fetching(&folder);
    let count = "\ntext = open('/proc/net/netstat').read().split('\\n')\n\
        found = [line.split() for line in text if line.startswith('TcpExt:')]\n\
        value = lambda name: int(found[1][found[0].index(name)])\n\
        open(sys.argv[2], 'w').write(str(value('TCPDSACKOldSent') + value('TCPDSACKOfoSent')))";
    client.command[2].push(count);
    let counted = folder.join("counted");
    client.command.push(counted.clone().into_os_string());
    let link = json!({ "queue": { "packets": 2000 }, "forward": { "duplicate": 0.1 } });
    let scenario = scenario(link, json!({ "transport": { "dsack": true } }));
    let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
    assert_eq!(ran.status, 0);
    let table = ran.tables.iter().find(|table| table.name() == "impairments").unwrap();
    let columns = table.columns();
    let copies = columns.iter().find(|column| column.name == "duplicated_packets").unwrap();
    let Values::U64(copies) = &copies.values else { panic!("a count") };
    let reported: u64 = fs::read_to_string(&counted).unwrap().parse().unwrap();
    // About 70 of 700 packets; those without data are not reported.
    assert!((40..110).contains(&copies[0]), "{}", copies[0]);
    assert!(reported + 5 >= copies[0] && reported <= copies[0], "{reported} of {}", copies[0]);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn real_tcp_gets_its_payload_where_packets_overtake_by_jitter() {
    if is_skipped() {
        return;
    }
    let folder = folder("jitter-tcp");
    let payload: Vec<u8> = (0..1_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, client) = fetching(&folder);
    let jitter = json!({ "variation": "5ms", "distribution": "pareto", "reorder": true });
    let link = json!({ "queue": { "packets": 2000 }, "jitter": jitter });
    let ran = shell(&scenario(link, json!({})), 1, &client, std::slice::from_ref(&server)).unwrap();
    assert_eq!(ran.status, 0);
    assert!(ran.links[0].delivered_packets > 650);
    fs::remove_dir_all(&folder).unwrap();
}
