//! Packets for Wireshark, as they are on the wire: what a capture at the host that sends the data
//! shows. A thread of its own writes them, so that no packet waits for a disk.

use std::io::Write;
use std::sync::mpsc::Receiver;

use recording::{CaptureError, CaptureWriter};

use crate::emulator::Seen;
use crate::plan::Plan;

/// Name of the file's only interface, as in captures of the simulator.
const INTERFACE: &str = "data-senders";

/// Writes packets until all senders are gone.
pub(crate) fn write(
    sink: &mut dyn Write,
    plan: &Plan,
    packets: &Receiver<Seen>,
) -> Result<(), CaptureError> {
    let snaplen = u32::from(plan.snaplen());
    let mut writer = CaptureWriter::new(sink, &[INTERFACE.to_owned()], snaplen)?;
    for seen in packets {
        if is_at_data_sender(&seen, plan) {
            writer.packet(0, seen.at.as_nanos(), &seen.start, seen.length)?;
        }
    }
    writer.finish().map(drop)
}

/// Each packet passes two hosts and shall be in the file once.
fn is_at_data_sender(seen: &Seen, plan: &Plan) -> bool {
    let flow = seen.ports.and_then(|ports| plan.flow_of_ports(ports));
    flow.is_some_and(|flow| plan.hosts[flow.from].node == seen.node.0)
}
