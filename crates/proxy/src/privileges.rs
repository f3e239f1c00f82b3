//! Capabilities: what the daemon keeps, and how it drops the rest.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_keep_capabilities, set_no_new_privs,
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
    if let Some((user, group)) = user {
        set_keep_capabilities(true)?;
        sys::become_user(user, group)?;
    }
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: KEPT, permitted: KEPT, inheritable })?;
    set_no_new_privs(true)?;
    Ok(())
}
