//! System calls that no library offers safely.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_int};
use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Sets a socket option that is plain data.
fn set(fd: impl AsFd, level: c_int, option: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of a slice that lives through the call; the kernel reads
    // at most that length.
    let result = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    outcome(result)
}

/// Sets a socket option that is a number of 32 bits.
pub(crate) fn set_number(fd: impl AsFd, level: c_int, option: c_int, value: u32) -> io::Result<()> {
    set(fd, level, option, &value.to_ne_bytes())
}

/// Sets a socket option that is a number of 64 bits.
pub(crate) fn set_long(fd: impl AsFd, level: c_int, option: c_int, value: u64) -> io::Result<()> {
    set(fd, level, option, &value.to_ne_bytes())
}

/// Reads a socket option into `buffer`, and returns the part that the kernel filled.
pub(crate) fn get(
    fd: impl AsFd,
    level: c_int,
    option: c_int,
    buffer: &mut [u8],
) -> io::Result<&[u8]> {
    let mut length = buffer.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the buffer, and both live
    // through the call.
    let result = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            option,
            buffer.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    outcome(result).map(|()| &buffer[..length as usize])
}

/// Number of bytes in the send buffer that are not acknowledged (tcp(7), SIOCOUTQ).
pub(crate) fn unacknowledged(fd: impl AsFd) -> io::Result<u32> {
    let mut bytes: c_int = 0;
    // SAFETY: this request writes one `int`, which lives through the call.
    let result = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    outcome(result).map(|()| bytes.unsigned_abs())
}

/// Addresses of this machine in the namespace of the process.
pub(crate) fn own_addresses() -> io::Result<Vec<IpAddr>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the function writes one pointer, to a list that is freed below.
    outcome(unsafe { libc::getifaddrs(&raw mut first) })?;
    let mut addresses = Vec::new();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: `next` is not null, so it is an entry of the list, which has not been freed yet.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        if entry.ifa_addr.is_null() {
            continue;
        }
        // SAFETY: the address is not null, and every socket address begins with its family.
        match c_int::from(unsafe { (*entry.ifa_addr).sa_family }) {
            libc::AF_INET => {
                // SAFETY: the family says that the address is a `sockaddr_in`.
                let address = unsafe { &*entry.ifa_addr.cast::<libc::sockaddr_in>() };
                addresses.push(Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)).into());
            }
            libc::AF_INET6 => {
                // SAFETY: the family says that the address is a `sockaddr_in6`.
                let address = unsafe { &*entry.ifa_addr.cast::<libc::sockaddr_in6>() };
                addresses.push(Ipv6Addr::from(address.sin6_addr.s6_addr).into());
            }
            _ => {}
        }
    }
    // SAFETY: the list came from `getifaddrs`, and nothing refers to it any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(addresses)
}

/// Signals that a thread waits for.
pub(crate) struct Signals(libc::sigset_t);

impl Signals {
    /// Blocks the signals in the calling thread and in all threads that it starts from now on.
    /// `nohup` and other parents leave some of them ignored, and then there would be nothing to
    /// wait for. A SIGINT that is ignored stays so: the shell says by it that a job in the
    /// background has no terminal.
    pub(crate) fn block(signals: &[c_int]) -> io::Result<Self> {
        // SAFETY: `sigset_t` is plain data, which `sigemptyset` initialises.
        let mut set: libc::sigset_t = unsafe { mem::zeroed() };
        // SAFETY: the set lives through the calls, and the numbers are those of signals.
        unsafe {
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
        }
        // SAFETY: the set lives through the call, and the old set is not asked for.
        let error =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        for signal in signals.iter().filter(|signal| **signal != libc::SIGINT) {
            // SAFETY: no handler is set.
            if unsafe { libc::signal(*signal, libc::SIG_DFL) } == libc::SIG_ERR {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self(set))
    }

    /// The next signal, or `None` after the time.
    pub(crate) fn wait(&self, time: Duration) -> Option<c_int> {
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos().into(),
        };
        // SAFETY: set and time live through the call, and information on the signal is not asked
        // for.
        let signal =
            unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const time) };
        (signal > 0).then_some(signal)
    }
}

/// Takes descriptors that the process has inherited, by their numbers, and keeps them from
/// processes that it starts.
pub(crate) fn adopt(numbers: &[c_int]) -> io::Result<Vec<OwnedFd>> {
    let is_taken = |(at, number): (usize, &c_int)| *number < 3 || numbers[..at].contains(number);
    if numbers.iter().enumerate().any(is_taken) {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    for number in numbers {
        // SAFETY: no pointer is passed, and a number that is no open descriptor is an error.
        outcome(unsafe { libc::fcntl(*number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    }
    // SAFETY: all are open, each is there once, and nothing in this process has opened them: it is
    // called once, at the start of the process, with the numbers that the process before has set.
    Ok(numbers.iter().map(|number| unsafe { OwnedFd::from_raw_fd(*number) }).collect())
}

/// Gives up the identity of the process for another one, for all its threads.
pub(crate) fn become_user(user: u32, group: u32) -> io::Result<()> {
    // SAFETY: no pointer is read, because the list of groups is empty.
    outcome(unsafe { libc::setgroups(0, std::ptr::null()) })?;
    // SAFETY: these calls take numbers only. Those of libc apply to all threads.
    outcome(unsafe { libc::setresgid(group, group, group) })?;
    // SAFETY: as above.
    outcome(unsafe { libc::setresuid(user, user, user) })
}

/// Returns true if the namespace of the process has an interface of this name.
pub(crate) fn interface_exists(name: &CStr) -> bool {
    // SAFETY: the name ends with a zero and lives through the call.
    unsafe { libc::if_nametoindex(name.as_ptr()) != 0 }
}

/// Enters a network namespace with the calling thread.
pub(crate) fn enter(namespace: &OwnedFd) -> io::Result<()> {
    let kind = rustix::thread::LinkNameSpaceType::Network;
    rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(kind)).map_err(Into::into)
}

fn outcome(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
