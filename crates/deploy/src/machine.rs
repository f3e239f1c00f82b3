//! Requirements of the machine, and paths of the kernel's files.

use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::error::Error;

/// Where the types of the running kernel are described.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Where Linux has its BPF file system.
const PINS: &str = "/sys/fs/bpf";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The requirements that this machine lacks to load controllers, each with a remedy.
pub fn missing() -> Vec<String> {
    let mut missing = Vec::new();
    if !nix::unistd::geteuid().is_root() {
        missing.push("root: run it with sudo".to_owned());
    }
    if !Path::new(TYPES).exists() {
        missing.push(format!("{TYPES}: a kernel with CONFIG_DEBUG_INFO_BTF=y"));
    }
    if !Path::new(PINS).exists() {
        missing.push(format!("{PINS}: a kernel with CONFIG_BPF_SYSCALL=y"));
    }
    if crate::CONTROLLERS.iter().any(|controller| controller.object().is_none()) {
        missing.push("the programs: clang was missing where Bentpipe was built".to_owned());
    }
    missing
}

/// Returns an error if the machine lacks a requirement.
pub(crate) fn require() -> Result<(), Error> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::lacking(&missing))
}

/// The BPF file system, mounted where it usually is when nobody has done so yet.
pub(crate) fn pins() -> Result<&'static Path, Error> {
    let folder = Path::new(PINS);
    if !statfs(folder).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC) {
        mount(Some("bpf"), folder, Some("bpf"), MsFlags::empty(), Some("mode=0700"))
            .map_err(|error| Error::refused(format!("{PINS} cannot be mounted"), error))?;
    }
    Ok(folder)
}

/// Returns true if there is something that could be pinned there.
pub(crate) fn has_pins() -> bool {
    statfs(PINS).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC)
}

/// Returns true if the kernel has a controller of this name.
pub(crate) fn is_available(name: &str) -> bool {
    let all = std::fs::read_to_string(AVAILABLE).unwrap_or_default();
    all.split_whitespace().any(|known| known == name)
}
