//! System calls that no library offers safely.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Signal;
use rustix::thread::UnshareFlags;

/// The longest `TCP_INFO` that is asked for; kernels add fields at its end.
const LONGEST_TCP_INFO: usize = 512;

/// A request for one network interface, by its name.
pub(crate) struct InterfaceRequest(libc::ifreq);

impl InterfaceRequest {
    /// A request for the interface `name`, with nothing filled in.
    pub(crate) fn new(name: &str) -> Self {
        // SAFETY: `ifreq` is plain data for which zeros are valid: an empty name and no address.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        let room = request.ifr_name.len() - 1;
        for (to, from) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        Self(request)
    }

    /// Fills in a number: an MTU or a queue length.
    pub(crate) fn number(mut self, number: u32) -> Self {
        self.0.ifr_ifru.ifru_mtu = number as c_int;
        self
    }

    /// Fills in flags.
    pub(crate) fn flags(mut self, flags: c_int) -> Self {
        self.0.ifr_ifru.ifru_flags = flags as libc::c_short;
        self
    }

    /// Hands the request to the kernel; `operation` takes an `ifreq`.
    pub(crate) fn call(mut self, fd: impl AsFd, operation: libc::c_ulong) -> io::Result<()> {
        // SAFETY: every operation that this crate hands in (`SIOCSIF...`, `TUNSETIFF`) takes a
        // pointer to an `ifreq`, which lives through the call; the kernel keeps no pointer to it.
        let result = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), operation as _, &mut self.0) };
        outcome(result)
    }
}

/// Sets a socket option that is a number.
pub(crate) fn set_option(fd: impl AsFd, level: c_int, option: c_int, value: u32) -> io::Result<()> {
    // SAFETY: the value is a `u32` that lives through the call, and its length is passed.
    let result = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    outcome(result)
}

/// The state of a TCP connection from the kernel, as bytes. An older kernel gives fewer.
pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut info = vec![0; LONGEST_TCP_INFO];
    let mut length = LONGEST_TCP_INFO as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the buffer, and both live
    // through the call.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    outcome(result)?;
    info.truncate(length as usize);
    Ok(info)
}

/// Puts the calling thread before all that share the machine by turns.
pub(crate) fn schedule_first(priority: c_int) -> io::Result<()> {
    // SAFETY: `sched_param` is plain data for which zeros are valid.
    let mut parameters: libc::sched_param = unsafe { mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the pointer is to a `sched_param` that lives through the call; 0 is this thread.
    outcome(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
}

/// Gives the calling thread namespaces of its own.
pub(crate) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    assert!(!namespaces.contains(UnshareFlags::FILES), "descriptors stay shared between threads");
    // SAFETY: unsafe is only to unshare the table of descriptors, which was just ruled out.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }.map_err(io::Error::from)
}

/// Lets a program end when the calling thread does, even by a signal that nobody can handle.
pub(crate) fn die_with_thread(command: &mut Command) {
    // SAFETY: between fork and exec only this system call is made, which allocates nothing and
    // takes no lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(io::Error::from)
        });
    }
}

fn outcome(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
