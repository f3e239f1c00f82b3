//! Traces under real TCP: packets are lost and overtake each other as the trace has it, and the
//! payload arrives as it was sent.

use std::fs;

use recording::Values;
use serde_json::json;
use testbed::shell;

use super::{fetching, is_skipped, scenario};

#[test]
pub(crate) fn a_trace_loses_and_reorders_packets_of_real_tcp_and_the_payload_is_whole() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-trace-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..2_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let rows =
        "t_s,rate_mbps,delay_ms,loss_percent\n0,10,40,2\n0.2,10,5,2\n0.3,0,5,2\n0.35,8,20,2\n";
    fs::write(folder.join("trace.csv"), rows).unwrap();
    let (server, client) = fetching(&folder);
    let trace = json!({ "file": folder.join("trace.csv"), "loop": true, "phase": "random" });
    let forward = json!({ "trace": trace, "reorder": true });
    let scenario = scenario(json!({ "queue": { "packets": 400 }, "forward": forward }), json!({}));
    let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
    assert_eq!(ran.status, 0);
    let [forward, backward] = &ran.links[..] else { panic!("two directions") };
    // About 1400 packets.
    assert!(forward.corrupted_packets > 5, "{}", forward.corrupted_packets);
    assert_eq!(backward.corrupted_packets, 0);
    let traced = ran.tables.iter().find(|table| table.name() == "trace").unwrap().columns();
    let lost = traced.iter().find(|column| column.name == "lost_packets").unwrap();
    let Values::U64(lost) = &lost.values else { panic!("a count") };
    assert_eq!(**lost, [forward.corrupted_packets], "the channel is perfect");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn real_tcp_sees_that_packets_overtake_each_other_only_if_the_direction_reorders() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-reorder-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..2_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    // 40 ms and 5 ms in turn.
    fs::write(folder.join("delays"), "40\n".repeat(10) + &"5\n".repeat(10)).unwrap();
    let (server, mut client) = fetching(&folder);
    // Segments that came out of order, as the receiver's TCP counts them.
    let count = "\ntext = open('/proc/net/netstat').read().split('\\n')\n\
        found = [line.split() for line in text if line.startswith('TcpExt:')]\n\
        queued = int(found[1][found[0].index('TCPOFOQueue')])\n\
        open(sys.argv[2], 'w').write(str(queued))";
    client.command[2].push(count);
    let counted = folder.join("counted");
    client.command.push(counted.clone().into_os_string());
    let queued = |reorder: bool| -> u64 {
        let trace = json!({ "delays": folder.join("delays"), "loop": true });
        let forward = json!({ "trace": trace, "reorder": reorder });
        let scenario =
            scenario(json!({ "queue": { "packets": 2000 }, "forward": forward }), json!({}));
        let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
        assert_eq!(ran.status, 0);
        assert_eq!(ran.links[0].corrupted_packets + ran.links[0].dropped_packets, 0);
        fs::read_to_string(&counted).unwrap().parse().unwrap()
    };
    let (with, without) = (queued(true), queued(false));
    assert_eq!(without, 0);
    assert!(with > 20, "{with}");
    fs::remove_dir_all(&folder).unwrap();
}
