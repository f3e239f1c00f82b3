"""The unit and the container file of the daemon, in a root of their own.

No container engine is needed: the steps of the last stage run in an overlay of this system's root,
with the program that is built here. So the base images are not tested.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from bentpipe import proxy
from bentpipe.errors import BentpipeError

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
UNIT = "bentpipe-proxy.service"
BEGIN = """
set -eu
mount -t tmpfs none {folder}
cd {folder}
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount --rbind /proc root/proc
mount --rbind /dev root/dev
mount -t tmpfs none root/run
ip link set lo up
# Packages must be installed already: nothing is fetched.
for key in sourcelist sourceparts; do
    echo "Dir::Etc::$key /dev/null;" >>root/etc/apt/apt.conf.d/99-nothing-is-fetched
done
"""
START = """
ip link add lan0 type veth peer name sat0
state() {{ nft list ruleset; ip rule; ip route show table all; }}
state >before
printf %s {file} >root/etc/bentpipe/proxy.toml
chroot root {command} 2>log &
container=$!
for i in $(seq 300); do grep -q ready log && break; sleep 0.1; done
cat log
echo == while it runs
nft list tables
kill -HUP $container
for i in $(seq 100); do grep -q reloaded log && break; sleep 0.1; done
kill -TERM $container
wait $container
echo == afterwards
cat log
state >after
cmp before after && echo nothing is left
"""
FILE = '[terrestrial]\ninterfaces = ["lan0"]\n[satellite]\ninterfaces = ["sat0"]\n'


@pytest.fixture
def program() -> Path:
    """The program, built if it is not there."""
    if os.geteuid() != 0:
        pytest.skip("namespaces need root")
    try:
        return proxy.program()
    except BentpipeError:
        command = ["cargo", "build", "--quiet", "--workspace", "--locked", "--bin", proxy.NAME]
        subprocess.run(command, cwd=ROOT, check=True)
        return proxy.program()


def in_new_root(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script with the overlay in `root`. It ends with the script, and all that it did."""
    script = BEGIN.format(folder=folder) + script
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def last_stage() -> list[tuple[str, str]]:
    """Instructions of the container file with their arguments, from the last `FROM`."""
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]
    stages = [number for number, (name, _) in enumerate(found) if name == "FROM"]
    return found[stages[-1] + 1 :]


def as_commands(program: Path) -> tuple[list[str], list[str]]:
    """Commands that do the steps of the last stage, and the words that start the container."""
    commands = []
    words: dict[str, list[str]] = {}
    for name, rest in last_stage():
        match name:
            case "RUN":
                commands.append(f"chroot root sh -c {shlex.quote(rest)}")
            case "COPY" if rest.startswith("--from=build "):
                _, source, target = rest.split()
                assert source == f"/src/target/engine/{proxy.NAME}"
                commands.append(f"cp {program} root{target}")
            case "COPY":
                source, target = rest.split()
                commands.append(f"cp {ROOT / source} root{target}")
            case "ENTRYPOINT" | "CMD":
                words[name] = json.loads(rest)
            case _:
                pytest.fail(f"the test does not know the instruction {name}")
    return commands, words["ENTRYPOINT"] + words["CMD"]


@pytest.mark.alone
def test_the_container_sets_rules_runs_and_leaves_nothing(program: Path, tmp_path: Path) -> None:
    commands, start = as_commands(program)
    run = START.format(file=shlex.quote(FILE), command=shlex.join(start))
    done = in_new_root(tmp_path, "\n".join([*commands, run]))
    assert done.returncode == 0, done.stdout + done.stderr
    running, _, afterwards = done.stdout.partition("== afterwards")
    assert "table inet bentpipe_proxy" in running.partition("== while it runs")[2]
    assert "reloaded" in afterwards
    assert "stopped" in afterwards
    assert afterwards.endswith("nothing is left\n")


def test_the_unit_is_valid_and_confined(program: Path, tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    script = f"""
cp {program} root/usr/local/bin/bentpipe-proxy
cp {DEPLOY / UNIT} root/etc/systemd/system/
chroot root systemd-analyze verify /etc/systemd/system/{UNIT}
chroot root systemd-analyze security --offline=true --threshold=30 /etc/systemd/system/{UNIT}
"""
    done = in_new_root(tmp_path, script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
