//! Draws of a run from its seed, known before it runs.
//!
//! The simulator knows after a run whether its seed was drawn from (`link::Seed`). Here is the only
//! list of what may draw. [`of_direction`] names all settings of a link, and `Traffic::is_drawn`
//! all applications, so that a new one has to be considered. A part that is not known to draw
//! nothing counts as drawing.

use scenario::model::{Channel, Direction, Flow, Scenario, SwitchRule};
use units::Span;

/// Returns true if nothing in a run depends on the seed.
pub(crate) fn is_fixed(scenario: &Scenario) -> bool {
    let mut sides = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let probes = |rule: &SwitchRule| match rule {
        SwitchRule::Bfd { .. } => true,
        SwitchRule::Times { .. } | SwitchRule::Outages { .. } => false,
    };
    scenario.phase == Span::ZERO
        // Their queues hash by a key of the run, and their random access draws slots.
        && scenario.beams.is_empty()
        && !scenario.switches.iter().any(|switch| probes(&switch.rule))
        && !scenario.flows.iter().any(of_flow)
        && !sides.any(of_direction)
}

/// Returns true if a direction of a link may draw.
fn of_direction(direction: &Direction) -> bool {
    let Direction {
        rate: _,
        delay: _,
        jitter,
        queue: _,
        low_priority: _,
        ecn_marking: _,
        // Some drop at random, and others hash flows by a key of the run.
        aqm,
        // What they repeat or correct is decided by the channel.
        arq: _,
        fec: _,
        feedback: _,
        demand: _,
        framing: _,
        shaper: _,
        policer: _,
        channel,
        trace,
        timeline,
        // Packets overtake others where the delay falls.
        reorder: _,
        reordering,
        duplication,
        slots,
    } = direction;
    *channel != Channel::Perfect
        || !jitter.is_none()
        || aqm.is_some()
        || reordering.is_some()
        || duplication.is_some()
        || slots.is_some()
        || trace.phase > Span::ZERO
        || trace.timeline.has_loss()
        || timeline.has_loss()
}

/// Returns true if a flow may draw.
fn of_flow(flow: &Flow) -> bool {
    // QUIC draws its keys, connection IDs and numbers of packets that it leaves out.
    flow.traffic.is_drawn()
        || flow.sessions.is_some()
        || flow.path_hints.is_some()
        || flow.has_quic()
}
