//! The hosts of a scenario for tests, which open sockets of their own on them.

use std::net::IpAddr;
use std::path::Path;

use runtime::address;
use scenario::Scenario;

use crate::error::KernelError;
use crate::lab::{Lab, with_network};
use crate::plan;
use crate::settings::Kernel;

/// The hosts of a scenario, while the network carries their packets.
pub struct Hosts<'a> {
    scenario: &'a Scenario,
    lab: &'a Lab<'a>,
}

/// Does `work` while the network of `scenario` carries packets. `proxy` is the program
/// `bentpipe-proxy`, which scenarios with split proxies need. No flow is started.
///
/// # Errors
/// Those of [`crate::run()`].
pub fn with_hosts<T>(
    scenario: &Scenario,
    seed: u64,
    proxy: Option<&Path>,
    work: impl FnOnce(&Hosts<'_>) -> T,
) -> Result<T, KernelError> {
    let plan =
        plan::plan_without_flows(scenario, &Kernel::running()?).map_err(KernelError::Refused)?;
    let (worked, _) =
        with_network(scenario, seed, &plan, None, proxy, |lab| Ok(work(&Hosts { scenario, lab })))?;
    Ok(worked)
}

impl Hosts<'_> {
    /// The address of a node.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn address(&self, node: &str) -> IpAddr {
        address(self.number(node), self.scenario.ip)
    }

    /// Does `work` on a host, in a thread of its own. Sockets that it opens stay there.
    ///
    /// # Panics
    /// If there is no such host, or its namespace cannot be entered.
    pub fn inside<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> T {
        let node = self.number(host);
        let place = self.lab.plan.hosts.iter().position(|host| host.node == node);
        let namespace = place.map(|place| &self.lab.namespaces[place]);
        let namespace = namespace.expect("a node at which a flow ends or is split");
        let worked = namespace.inside(|| Ok::<_, std::io::Error>(work()));
        worked.expect("the namespace can be entered")
    }

    fn number(&self, name: &str) -> u16 {
        let place = self.scenario.nodes.iter().position(|node| node.name == name);
        place.and_then(|place| u16::try_from(place).ok()).expect("the name of a node")
    }
}
