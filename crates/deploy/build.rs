//! Compiles `bpf/*.c` to objects for the kernel's BPF machine, which the library holds within.
//!
//! Without clang there are no objects, and loading reports that: all else is built and works. The
//! script runs again when a program is installed then. Other systems than Linux have no objects.

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../bpf/controllers.rs"]
mod controllers;

fn main() {
    let sources = Path::new("../../bpf");
    println!("cargo:rerun-if-changed={}", sources.display());
    println!("cargo:rerun-if-env-changed=CLANG");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system != "linux") {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // Folder of libbpf's own headers, from the crate that contains it.
    let headers =
        env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys sets the folder of its headers");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let mut table = String::from("&[\n");
    if Command::new(&clang).arg("--version").output().is_ok() {
        for controller in controllers::controllers(sources) {
            let object = out.join(format!("{controller}.o"));
            let status = Command::new(&clang)
                .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", "-c"])
                .arg("-I")
                .arg(sources)
                .arg("-I")
                .arg(&headers)
                .arg(sources.join(format!("{controller}.c")))
                .arg("-o")
                .arg(&object)
                .status();
            assert!(status.is_ok_and(|s| s.success()), "clang cannot compile bpf/{controller}.c");
            writeln!(table, "({controller:?}, include_bytes!({object:?})),").expect("a string");
        }
    } else {
        println!("cargo:warning=without {clang} there are no controllers for the kernel");
        // Cargo compares the times of folders with their content: an installed clang changes one.
        let path = env::var_os("PATH").unwrap_or_default();
        for folder in env::split_paths(&path).filter(|folder| folder.is_dir()) {
            println!("cargo:rerun-if-changed={}", folder.display());
        }
    }
    table.push(']');
    std::fs::write(out.join("objects.rs"), table).expect("OUT_DIR can be written");
}
