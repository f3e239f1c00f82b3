//! Sources of controllers, a kernel's and those of public modules: found, unpacked and compiled.
//!
//! They do not become part of this project. What is unpacked and compiled stays in a folder for
//! temporary files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Libraries that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);
/// Where Debian's package puts archives.
const ARCHIVES: &str = "/usr/src";
/// Files to unpack.
const FILES: &[&str] = &["net/ipv4/tcp_*", "include/linux/win_minmax.h", "lib/win_minmax.c"];
/// Controllers of the kernel that are compiled, by the name in `tcp_NAME.c`.
const CONTROLLERS: &[&str] = &[
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];
const SHIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernel/shim.h");
const REPLAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/replay/replay.c");

/// Sources of a kernel.
#[derive(Clone, Debug)]
pub struct Source {
    /// The folder with `net` in it.
    folder: PathBuf,
    /// Its name for the table.
    pub release: String,
}

/// The sources at `given`, a folder or an archive as in Debian's package `linux-source`, or the
/// newest of the machine.
///
/// # Errors
/// When there are none, with a message.
pub fn find(given: Option<&Path>) -> Result<Source, String> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => newest()?,
    };
    let folder = if path.is_dir() { path } else { unpacked(&path)? };
    if !folder.join("net/ipv4/tcp_cong.c").is_file() {
        return Err(format!("{} has no net/ipv4/tcp_cong.c", folder.display()));
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let release = name.trim_start_matches("linux-source-").trim_start_matches("linux-");
    Ok(Source { release: format!("Linux {release}"), folder: folder.clone() })
}

/// The archive with the highest version.
fn newest() -> Result<PathBuf, String> {
    let version = |path: &Path| -> Option<Vec<u32>> {
        let name = path.file_name()?.to_str()?;
        let version = name.strip_prefix("linux-source-")?.strip_suffix(".tar.xz")?;
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    let files = fs::read_dir(ARCHIVES).into_iter().flatten().flatten().map(|entry| entry.path());
    let archives = files.filter_map(|path| Some((version(&path)?, path)));
    archives.max().map(|(_, path)| path).ok_or_else(|| {
        format!(
            "no {ARCHIVES}/linux-source-*.tar.xz: install Debian's linux-source, or give --source"
        )
    })
}

/// A folder outside of the project, for sources and what is made of them.
fn workplace() -> PathBuf {
    std::env::temp_dir().join("bentpipe-replay-kernel")
}

fn unpacked(archive: &Path) -> Result<PathBuf, String> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let Some((name, _)) = name.split_once(".tar") else {
        return Err(format!("{} is neither a folder nor a .tar archive", archive.display()));
    };
    let place = workplace();
    let folder = place.join(name);
    let age = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let mark = folder.join("unpacked");
    if age(&mark).is_some_and(|unpacked| age(archive).is_none_or(|made| made <= unpacked)) {
        return Ok(folder);
    }
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let patterns = FILES.iter().map(|file| format!("*/{file}"));
    run(Command::new("tar")
        .arg("-xf")
        .arg(archive)
        .arg("-C")
        .arg(&folder)
        .args(["--strip-components=1", "--wildcards"])
        .args(patterns))?;
    fs::write(&mark, "").map_err(|error| format!("{}: {error}", mark.display()))?;
    Ok(folder)
}

/// Compiles the controllers, and those of a folder with a module, as a shared library, which `load`
/// gets before it is deleted.
///
/// # Errors
/// When the compiler fails, or `load` does.
pub fn library<T>(
    source: &Source,
    module: Option<&Path>,
    load: impl Fn(&Path) -> Result<T, String>,
) -> Result<T, String> {
    let place = workplace().join(format!(
        "made-{}-{}",
        std::process::id(),
        MADE.fetch_add(1, Ordering::Relaxed)
    ));
    let loaded = compile(source, module, &place).and_then(|library| load(&library));
    // What is loaded stays, and what is left behind is a temporary file.
    let _ = fs::remove_dir_all(&place);
    loaded
}

fn compile(source: &Source, module: Option<&Path>, place: &Path) -> Result<PathBuf, String> {
    let headers = place.join("headers");
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    fs::create_dir_all(&headers).map_err(failed)?;

    let mut files: Vec<_> = CONTROLLERS
        .iter()
        .map(|name| source.folder.join(format!("net/ipv4/tcp_{name}.c")))
        .filter(|file| file.is_file())
        .collect();
    if let Some(folder) = module {
        files.extend(files_of(folder)?);
    }
    files.push(source.folder.join("lib/win_minmax.c"));
    let minmax = source.folder.join("include/linux/win_minmax.h");
    make_headers(&headers, files.iter().chain([&minmax]))?;
    fs::copy(&minmax, headers.join("linux/win_minmax.h")).map_err(failed)?;

    let shared = place.join("tcp_cong.c");
    fs::write(&shared, common(&source.folder)?).map_err(failed)?;
    files.push(shared);
    files.push(REPLAY.into());

    let library = place.join("controllers.so");
    // Warnings are those of the kernel's code, and so nobody's here.
    let options =
        ["-std=gnu11", "-O2", "-w", "-fPIC", "-shared", "-fwrapv", "-fno-strict-aliasing"];
    run(Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(options)
        .args(module.map(|_| "-DHZ=1000"))
        .arg("-Wl,--no-undefined")
        .arg("-I")
        .arg(&headers)
        .arg("-I")
        .arg(source.folder.join("net/ipv4"))
        .args(["-include", SHIM, "-o"])
        .arg(&library)
        .args(&files))?;
    Ok(library)
}

/// The C files of a module, in the order of their names.
///
/// # Errors
/// When the folder has none.
pub(crate) fn files_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "c")).collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("{} has no file of C", folder.display()));
    }
    Ok(files)
}

/// Empty files for what the sources include: the shim stands for all of it.
fn make_headers<'a>(folder: &Path, files: impl Iterator<Item = &'a PathBuf>) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for file in files {
        let text = read(file)?;
        let included = text.lines().filter_map(|line| line.strip_prefix("#include <"));
        names.extend(included.filter_map(|rest| Some(rest.split_once('>')?.0.to_owned())));
    }
    for name in names {
        let path = folder.join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(failed)?;
        fs::write(&path, "").map_err(failed)?;
    }
    Ok(())
}

/// Functions of `tcp_cong.c` that all controllers call, Reno included: they stand together there.
fn common(folder: &Path) -> Result<String, String> {
    let path = folder.join("net/ipv4/tcp_cong.c");
    let text = read(&path)?;
    let begins = |line: &str| line.ends_with("u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)");
    let lines: Vec<_> = text.lines().skip_while(|line| !begins(line)).collect();
    let reno = lines.iter().position(|line| line.starts_with("struct tcp_congestion_ops tcp_reno"));
    let end =
        reno.and_then(|start| Some(start + lines[start..].iter().position(|line| *line == "};")?));
    let end = end.ok_or(format!("{}: Reno is not where it was", path.display()))?;
    Ok(lines[..=end].join("\n")
        + "\nstatic int reno(void)\n{\n\treturn tcp_register_congestion_control(&tcp_reno);\n}\n\
           module_init(reno);\n")
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("{program}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&done.stderr);
    let first: Vec<_> = message.lines().take(12).collect();
    Err(format!("{program} failed:\n{}", first.join("\n")))
}
