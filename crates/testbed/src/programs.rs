//! Settings of flows for the programs of `bentpipe shell`, which open their own sockets: sysctls
//! and routes of the host, its default congestion control, and what only an option of a socket
//! could set.

use std::fs;

use runtime::Side;
use scenario::Scenario;

use crate::error::KernelError;
use crate::hosts;
use crate::plan::{Plan, plan_without_flows};
use crate::settings::{Applied, Kernel};

/// The controllers that a namespace may have as its default. One can be added in the first
/// namespace only.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// The default congestion control of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Default {
    /// That of all flows which begin or end there.
    Of(String),
    /// That of the machine, and why.
    OfMachine(String),
}

/// Settings of the flows of a scenario that programs on its hosts do not get, one line for each
/// host.
///
/// # Errors
/// Those of [`crate::shell()`] before the hosts are set up.
pub fn unset_for_programs(scenario: &Scenario) -> Result<Vec<String>, KernelError> {
    let kernel = Kernel::running()?;
    let plan = plan_without_flows(scenario, &kernel).map_err(KernelError::Refused)?;
    let allowed = allowed();
    let mut lines = Vec::new();
    for (number, host) in plan.hosts.iter().enumerate() {
        let name = &scenario.nodes[usize::from(host.node)].name;
        let sockets = sockets(&plan, number);
        if let Some(Default::OfMachine(reason)) = default_of(&sockets, &allowed) {
            lines.push(format!(
                "programs on {name} have the congestion control of this machine: {reason}"
            ));
        }
        let mut options: Vec<&str> = sockets.iter().flat_map(|one| options(one)).collect();
        options.sort_unstable();
        options.dedup();
        if !options.is_empty() {
            lines.push(format!(
                "programs on {name} have their own {}, because only an option of a socket sets it",
                options.join(", ")
            ));
        }
    }
    Ok(lines)
}

/// Gives each host the congestion control of its flows, as far as the machine allows it.
pub(crate) fn set_defaults(
    plan: &Plan,
    namespaces: &[crate::namespace::Namespace],
) -> Result<(), KernelError> {
    let allowed = allowed();
    for (number, namespace) in namespaces.iter().enumerate() {
        if let Some(Default::Of(name)) = default_of(&sockets(plan, number), &allowed) {
            namespace.inside(|| hosts::set("ipv4/tcp_congestion_control", &name))?;
        }
    }
    Ok(())
}

/// Those that every namespace may have. Kernels that do not list them allow none.
fn allowed() -> Vec<String> {
    let names = fs::read_to_string(ALLOWED).unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

/// Settings of the sockets of all flows that begin or end at a host.
fn sockets(plan: &Plan, host: usize) -> Vec<&Applied> {
    let sides = plan.flows.iter().flat_map(|flow| [(flow, Side::Sender), (flow, Side::Receiver)]);
    sides
        .filter(|(flow, side)| flow.host(*side) == host)
        .filter_map(|(flow, side)| flow.carrier.sockets(side))
        .collect()
}

/// The congestion control of a host with these flows; `None` without a flow over TCP.
fn default_of(sockets: &[&Applied], allowed: &[String]) -> Option<Default> {
    let mut names: Vec<&str> = sockets.iter().map(|one| one.controller.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    Some(match *names {
        [] => return None,
        [""] => Default::OfMachine("this kernel has none of that name".to_owned()),
        [name] if allowed.iter().any(|one| one == name) => Default::Of(name.to_owned()),
        [name] => Default::OfMachine(format!(
            "it restricts {name}; `sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{} {name}\"` allows it",
            allowed.join(" ")
        )),
        _ => {
            let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
            Default::OfMachine(format!("the flows there have {}", names.join(" and ")))
        }
    })
}

/// Settings that options of sockets have, and that are not the choice of an application as writes
/// and Nagle's algorithm are.
fn options(sockets: &Applied) -> impl Iterator<Item = &'static str> {
    let options = [
        (!sockets.tunes_window, "transport.receive_buffer"),
        (sockets.send_buffer.is_some(), "transport.send_buffer"),
        (sockets.ack_delay.is_some(), "transport.delayed_ack"),
        (sockets.paced, "transport.pacing"),
        (sockets.keep_alive.is_some(), "transport.keep_alive"),
        (sockets.user_timeout.is_some(), "transport.user_timeout"),
    ];
    options.into_iter().filter_map(|(is_set, name)| is_set.then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::applied;
    use serde_json::json;

    #[test]
    fn a_host_has_the_controller_of_its_flows_if_they_agree_and_the_machine_allows_it() {
        let of = |controller: &str| {
            let mut one = applied(json!({ "delayed_ack": "linux", "receive_buffer": {} }));
            controller.clone_into(&mut one.controller);
            one
        };
        let allowed = ["reno".to_owned(), "bbr".to_owned()];
        let (reno, cubic, none) = (of("reno"), of("cubic"), of(""));
        let default = |sockets: &[&Applied]| default_of(sockets, &allowed);
        assert_eq!(default(&[]), None);
        assert_eq!(default(&[&reno, &reno]), Some(Default::Of("reno".to_owned())));
        let reason = |sockets: &[&Applied]| match default(sockets) {
            Some(Default::OfMachine(reason)) => reason,
            other => panic!("{other:?}"),
        };
        assert!(reason(&[&cubic]).contains("\"reno bbr cubic\""));
        assert!(reason(&[&none]).contains("has none"));
        assert_eq!(reason(&[&reno, &cubic, &none]), "the flows there have cubic and reno");
        assert_eq!(options(&reno).count(), 0);
    }

    #[test]
    fn options_of_sockets_are_named() {
        let sockets = applied(json!({
            "receive_buffer": "1MB", "send_buffer": "1MB", "delayed_ack": "40ms", "pacing": "linux",
            "keep_alive": {}, "user_timeout": "9s",
        }));
        assert_eq!(options(&sockets).count(), 6);
    }
}
