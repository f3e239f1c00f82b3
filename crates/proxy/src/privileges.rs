//! Capabilities: what the daemon keeps, how it drops the rest, and how a process after it gets
//! them.

use std::io;

use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities, set_no_new_privs,
};

use crate::sys;

/// Transparent sockets and congestion controllers; the late handshake; ports below 1024 of clients.
pub(crate) const KEPT: CapabilitySet =
    CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW).union(CapabilitySet::NET_BIND_SERVICE);

/// Capabilities that the process lacks.
pub(crate) fn missing() -> io::Result<CapabilitySet> {
    Ok(KEPT.difference(capabilities(None)?.effective))
}

/// Becomes `user` if there is one, and drops all capabilities but [`KEPT`], for good. Threads that
/// are started later inherit this.
pub(crate) fn drop_all(user: Option<(u32, u32)>) -> io::Result<()> {
    let is_settable = capabilities(None)?.effective.contains(CapabilitySet::SETPCAP);
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        // Beyond the last capability of this kernel the call fails.
        if is_settable && !KEPT.contains(capability) {
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    let own = (geteuid().as_raw(), getegid().as_raw());
    // After an upgrade the process is that user already, and may not even ask to become it.
    if let Some((user, group)) = user.filter(|user| *user != own) {
        set_keep_capabilities(true)?;
        sys::become_user(user, group)?;
    }
    keep(CapabilitySet::empty())?;
    set_no_new_privs(true)?;
    Ok(())
}

fn keep(inheritable: CapabilitySet) -> io::Result<()> {
    Ok(set_capabilities(None, CapabilitySets { effective: KEPT, permitted: KEPT, inheritable })?)
}

/// Lets a process that `start` starts have [`KEPT`], whatever its user is.
pub(crate) fn inherited<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    keep(KEPT)?;
    for capability in KEPT.iter() {
        configure_capability_in_ambient_set(capability, true)?;
    }
    let started = start();
    // What is not inheritable is not ambient either (capabilities(7)).
    keep(CapabilitySet::empty())?;
    started
}
