//! Pacing as in Linux: `tcp_update_pacing_rate` and `tcp_update_skb_after_send`.

#![expect(clippy::single_range_in_vec_init, reason = "a list of one SACK block")]

use tcp::Config;
use tcp::Recovery;
use transport::{Endpoint, Pacing};

use crate::script::Script;
use crate::wire::{MSS, config, ms};

const NONE: [u64; 0] = [];

/// Ten segments were sent 100 ms ago, which is the RTT.
fn sender(pacing: Pacing) -> Script {
    let mut script = Script::new(&Config { pacing, recovery: Recovery::Sack, ..config() });
    script.end.write(1_000 * MSS);
    assert_eq!(script.sent().len(), 10, "the first window leaves at once");
    assert_eq!(script.wait(ms(100)), NONE);
    script
}

#[test]
fn a_controller_that_asks_for_no_pacing_sends_as_acks_allow() {
    let mut script = sender(Pacing::Controller);
    assert_eq!(script.ack(5).len(), 6);
    assert_eq!(script.wait(ms(50)), NONE);
}

/// 11 segments in half of the RTT: two in 9 ms.
#[test]
fn in_slow_start_the_window_is_spread_over_half_of_the_round_trip_in_packets() {
    let mut script = sender(Pacing::Linux);
    assert_eq!(script.ack(5), [10, 11]);
    // The first was late by all that the sender had waited: only half a gap follows.
    assert_eq!(script.wait(ms(4)), NONE);
    assert_eq!(script.wait(ms(1)), [12, 13]);
    assert_eq!(script.wait(ms(8)), NONE);
    assert_eq!(script.wait(ms(2)), [14, 15]);
}

#[test]
fn a_retransmission_waits_for_its_turn_as_well() {
    let mut script = sender(Pacing::Linux);
    assert_eq!(script.ack(2), [10, 11]);
    assert_eq!(script.sack(2, &[3..6]), NONE);
    assert_eq!(script.wait(ms(5))[0], 2);
}
