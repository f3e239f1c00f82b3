//! Compiles `bpf/*.c` for this machine, with `bpf/replay` in the place of libbpf's headers.

use std::path::Path;

#[path = "../../bpf/controllers.rs"]
mod controllers;

fn main() {
    let sources = Path::new("../../bpf");
    println!("cargo:rerun-if-changed={}", sources.display());
    let build = || {
        let mut build = cc::Build::new();
        build.include(sources.join("replay")).include(sources).extra_warnings(false).opt_level(2);
        build
    };
    for controller in controllers::controllers(sources) {
        build()
            // One program holds all of them here: what each calls the same must differ.
            .define("parameters", format!("{controller}_parameters").as_str())
            .define("_license", format!("{controller}_license").as_str())
            .file(sources.join(format!("{controller}.c")))
            .compile(&format!("bp_{controller}"));
    }
    build().file(sources.join("replay/replay.c")).compile("bp_replay");
}
