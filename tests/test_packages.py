"""What others install, in root file systems that have nothing else: the Debian package of the proxy
and the wheel. No container engine is needed. The roots are made from Debian packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

from bentpipe import proxy
from bentpipe.errors import BentpipeError

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("mmdebstrap", "dpkg-buildpackage", "dh", "help2man")
MOST_WHEEL_BYTES = 40_000_000
PROGRAMS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Debian's default; pip installs programs for all users in /usr/local/bin."""
MOST_SECONDS = 120
"""Of each job of docs/getting-started.md."""
MOST_SECONDS_OF_PAGE = 2
JOBS = {
    "choose for a link": (
        "bentpipe compare --link geo-ku --rate 2Mbit/s --per 0.001"
        " --controllers cubic,hybla,bbr3 --replications 3",
        "hybla",
    ),
    "describe a link": (
        "bentpipe new geo mine.toml --rate 20Mbit/s --return-rate 4Mbit/s; bentpipe run mine.toml",
        "goodput",
    ),
    "compare controllers": (
        "bentpipe new study --controllers newreno,hybla; bentpipe study study.toml",
        "40 runs of 4 variants",
    ),
    "reproduce a published figure": (
        "bentpipe papers list; bentpipe papers run adalr --out papers-out",
        "Tables and plots are in papers-out",
    ),
}
"""The jobs of docs/getting-started.md in two commands each, and a word of what they print."""
OPEN_PAGE = """
bentpipe lab > address &
python3 -c "
import time, urllib.request
began = time.monotonic()
while time.monotonic() - began < 60:
    try:
        urllib.request.urlopen(open(\\"address\\").readline().strip() + \\"start\\").read()
        print(time.monotonic() - began)
        break
    except (ValueError, OSError):
        time.sleep(0.01)
"
kill %1
"""
COMPLETE = """
source /usr/share/bash-completion/completions/bentpipe-proxy
COMP_WORDS=(bentpipe-proxy u) COMP_CWORD=1
_bentpipe_proxy
echo "${COMPREPLY[@]}"
COMP_WORDS=(bentpipe-proxy top x --on) COMP_CWORD=3
_bentpipe_proxy
echo "${COMPREPLY[@]}"
"""

pytestmark = [pytest.mark.alone, pytest.mark.nightly]


def script(name: str, *arguments: str | Path) -> str:
    """Run a script of the project, and return its output."""
    command = [str(ROOT / "scripts" / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def inside(root: Path, command: str, *, network: bool = False) -> str:
    """Run a command in a root. Without `network` it has none but the loopback interface."""
    enter = f"ip link set lo up 2>/dev/null; exec chroot {root} /bin/bash -ec '{command}'"
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    apart += [] if network else ["--net"]
    environment = {"PATH": PROGRAMS, "LANG": "C.UTF-8", "HOME": "/root"}
    proc = f"mount -t proc none {root}/proc; mount --rbind /dev {root}/dev; "
    done = subprocess.run(
        [*apart, "sh", "-c", proc + enter],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env=environment,
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def program() -> Path:
    """The compiled proxy. The reason is printed where no root can be made."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"needs root and {', '.join(TOOLS)}; missing: {', '.join(missing) or 'root'}")
    try:
        return proxy.program()
    except BentpipeError:
        command = ["cargo", "build", "--quiet", "--locked", "--package", "proxy"]
        subprocess.run(command, cwd=ROOT, check=True)
        return proxy.program()


@pytest.fixture(scope="module")
def gateway(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with the package of the proxy."""
    folder = tmp_path_factory.mktemp("gateway")
    package = script("debian.sh", program, folder).strip()
    script("root.sh", "proxy", package, folder / "root")
    return folder / "root"


def test_the_package_of_the_proxy_is_installed_and_removed(gateway: Path) -> None:
    assert inside(gateway, "bentpipe-proxy --version").startswith("bentpipe-proxy ")
    held = inside(gateway, "dpkg -L bentpipe-proxy").split()
    unit = Path("lib/systemd/system/bentpipe-proxy.service")
    for file in ("/usr/bin/bentpipe-proxy", "/etc/bentpipe/proxy.toml", f"/{unit}"):
        assert file in held
    assert "ExecStart=/usr/bin/bentpipe-proxy run" in (gateway / unit).read_text()
    # Neither enabled nor started: its interfaces have to be named first.
    assert not list(gateway.glob("etc/systemd/system/*.wants/bentpipe-proxy.service"))
    assert "expected" in inside(
        gateway, "bentpipe-proxy check /etc/bentpipe/proxy.toml 2>&1 || true"
    )

    (gateway / "complete").write_text(COMPLETE)
    assert inside(gateway, ". /complete").split() == ["upgrade", "--once"]

    kept = gateway / "etc/bentpipe/proxy.toml"
    inside(gateway, "dpkg --remove bentpipe-proxy")
    assert not (gateway / "usr/bin/bentpipe-proxy").exists()
    assert kept.exists(), "a removed package keeps its configuration"
    inside(gateway, "dpkg --purge bentpipe-proxy")
    assert not kept.exists()
    assert not (gateway / unit).exists()


def test_equal_sources_give_equal_packages(program: Path, tmp_path: Path) -> None:
    first, second = (
        Path(script("debian.sh", program, tmp_path / name).strip()) for name in ("a", "b")
    )
    assert first.read_bytes() == second.read_bytes()


@pytest.fixture(scope="module")
def wheel(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with the proxy."""
    folder = tmp_path_factory.mktemp("wheel")
    script("wheel.sh", program, folder)
    (built,) = folder.glob("bentpipe-*.whl")
    return built


def test_the_wheel_alone_is_the_laboratory(wheel: Path, tmp_path: Path) -> None:
    """The jobs of docs/getting-started.md, without Rust, a compiler, a clone and the network."""
    assert wheel.stat().st_size < MOST_WHEEL_BYTES
    assert "manylinux" in wheel.name
    root = tmp_path / "root"
    script("root.sh", "laboratory", wheel, root)
    assert not list(root.glob("usr/bin/*cargo*"))
    assert not (root / "usr/bin/cc").exists()
    does_the_jobs(root)
    assert "geo-download.toml" in inside(root, "cd /root; bentpipe examples; ls examples")
    assert inside(root, "bentpipe-proxy --version").startswith("bentpipe-proxy ")
    assert "hybla" in inside(root, "bentpipe kernel list")


OF_WINDOWS = {"KERNEL32.dll", "advapi32.dll", "bcrypt.dll", "bcryptprimitives.dll", "msvcrt.dll",
              "ntdll.dll", "python3.dll", "userenv.dll", "ws2_32.dll"}  # fmt: skip
"""Libraries that Windows has, and the interface of all Pythons from 3.11."""


def test_the_wheel_for_windows_needs_only_windows_and_python(tmp_path: Path) -> None:
    linker = shutil.which("x86_64-w64-mingw32-gcc")
    if linker is None or shutil.which("rustup") is None:
        pytest.skip("needs gcc-mingw-w64-x86-64-win32 and rustup")
    script("wheel-windows.sh", tmp_path)
    (built,) = tmp_path.glob("bentpipe-*-cp311-abi3-win_amd64.whl")
    assert built.stat().st_size < MOST_WHEEL_BYTES
    with zipfile.ZipFile(built) as archive:
        module = archive.extract("bentpipe/_native.pyd", tmp_path)
        assert not [name for name in archive.namelist() if name.endswith("/bentpipe-proxy")]
    dump = ["x86_64-w64-mingw32-objdump", "--private-headers", module]
    listed = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
    needed = {line.split()[-1].lower() for line in listed.splitlines() if "DLL Name:" in line}
    beyond = needed - {name.lower() for name in OF_WINDOWS}
    assert not {name for name in beyond if not name.startswith("api-ms-win-")}


def does_the_jobs(root: Path) -> None:
    """Run the jobs of docs/getting-started.md and open the live page, all without a network."""
    for job, (command, expected) in JOBS.items():
        began = time.monotonic()
        assert expected in inside(root, f"cd $(mktemp -d); {command}"), job
        seconds = time.monotonic() - began
        print(f"{job}: {seconds:.1f} s")
        assert seconds < MOST_SECONDS, job
    seconds = float(inside(root, f"cd $(mktemp -d); {OPEN_PAGE}"))
    print(f"the live page answers after {seconds:.2f} s")
    assert seconds < MOST_SECONDS_OF_PAGE
