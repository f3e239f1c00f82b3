//! State that all threads share: counters, limits, the log, and the way to a server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::json;

use crate::clock::Clock;
use crate::config::{Config, SideName, Source, Towards};
use crate::counters::All;
use crate::gate::Gate;
use crate::late::Servers;
use crate::log::Log;
use crate::sockets::{self, Target, Unset};

/// State that all threads share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) counters: Arc<All>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) log: Log,
    pub(crate) clock: Clock,
    /// Addresses of this machine, read again from time to time.
    pub(crate) own: Arc<RwLock<Vec<IpAddr>>>,
    /// Servers that have accepted.
    pub(crate) servers: Arc<Servers>,
}

impl Shared {
    /// Returns true if `address` is one of this machine.
    pub(crate) fn is_own(&self, address: IpAddr) -> bool {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        address.is_loopback() || address.is_unspecified() || own.contains(&address)
    }

    /// Counts a setting that the kernel did not accept, and logs the first one.
    pub(crate) fn report(&self, unset: &Unset) {
        let counter = &self.counters.process.failed_settings;
        counter.one();
        if counter.get() == 1 {
            let values = [("setting", json!(unset.key)), ("error", json!(unset.error.to_string()))];
            self.log.write("the kernel did not accept a setting", &values);
        }
    }

    /// Counts a connection that came without having been held back, and logs the first one.
    pub(crate) fn was_not_held_back(&self) {
        let counter = &self.counters.process.not_held_back;
        counter.one();
        if counter.get() == 1 {
            let mends = "remove the rules and set them again";
            self.log.write("the rules do not hold SYNs back", &[("mend", json!(mends))]);
        }
    }

    /// Begins the connection to the server of a client on `side`. With `has_data` its SYN may wait
    /// for the client's data (TCP Fast Open). An error is counted.
    pub(crate) fn ask(
        &self,
        config: &Config,
        (side, source): (SideName, Source),
        [client, server]: [SocketAddr; 2],
        dscp: Option<u8>,
        has_data: bool,
    ) -> io::Result<OwnedFd> {
        let counters = &self.counters.process;
        let target = Target {
            client,
            server,
            source,
            mark: config.mark_of(Towards::Server),
            dscp: dscp.filter(|_| config.document.copy_dscp),
            has_data,
            options: [Some(&config.side(side.other()).tcp), config.subnet_of(server.ip())],
        };
        let outgoing = match sockets::connect_to(&target) {
            Ok(outgoing) => outgoing,
            Err(error) => {
                let counter = match error.raw_os_error() {
                    Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                        &counters.out_of_resources
                    }
                    _ => &counters.server_unreachable,
                };
                counter.one();
                return Err(error);
            }
        };
        if let Err(unset) = &outgoing.settings {
            self.report(unset);
        }
        if outgoing.has_other_port {
            counters.other_source_port.one();
        }
        Ok(outgoing.fd)
    }
}
