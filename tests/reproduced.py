"""Results of `bentpipe papers run` that several tests read, made once.

    python tests/reproduced.py

makes them, or returns at once. They are made again when the package, the engine or a dependency has
changed, or the folder with the data of others.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "reproductions"
DATA = Path(os.environ.get("BENTPIPE_DATA", ROOT.parent / "shared" / "data"))
"""Folder with the data of others, which some reproductions read."""


def package() -> str:
    """Digest of all that decides the results of reproductions: package, dependencies and data."""
    digest = hashlib.sha256((ROOT / "uv.lock").read_bytes())
    digest.update(f"{DATA if DATA.is_dir() else None}\n".encode())
    for path in sorted((ROOT / "python").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return digest.hexdigest()


def reproduced() -> Path:
    """The folder of `bentpipe papers run --out`, and its JSON as `printed.json`."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = CACHE / package()
        if not folder.exists():
            for old in filter(Path.is_dir, CACHE.iterdir()):
                shutil.rmtree(old)
            unfinished = CACHE / "unfinished"
            command = [sys.executable, "-m", "bentpipe", "papers", "run", "--json"]
            measured = ["--data", str(DATA)] if DATA.is_dir() else []
            done = subprocess.run(
                [*command, *measured, "--out", str(unfinished)], check=True, stdout=subprocess.PIPE
            )
            (unfinished / "printed.json").write_bytes(done.stdout)
            unfinished.rename(folder)
    return folder


if __name__ == "__main__":
    reproduced()
