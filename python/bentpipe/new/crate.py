"""A Rust crate with a controller of one's own, for `bentpipe new controller --rust NAME`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe import _native
from bentpipe.errors import BentpipeError, OutputError
from bentpipe.new import Written, filled, quoted, save
from bentpipe.wheel import engine_of

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""Names of controllers, as those of the registry are."""
PREFIX = "bentpipe-"
"""Before the name of the crate, so that no name is that of a crate or a keyword."""


def write(name: str, folder: Path | None, source: Path | None, *, force: bool) -> Written:
    """Write the crate of a controller into a folder, by default the name of the controller.

    It refers to the sources of Bentpipe in `source`, by default those of this installation.
    `BentpipeError` if the name is taken or the sources are missing, `OutputError` if a file exists.
    """
    if not NAME.fullmatch(name):
        expected = "lower-case letters, digits and hyphens, such as my-reno"
        raise BentpipeError(f"--rust: expected {expected}, found {name!r}")
    if name in {entry.name for entry in _native.controllers()}:
        raise BentpipeError(f"--rust: there is a controller {name!r} already; choose another name")
    crates = engine_of(source).resolve() / "crates"
    folder = folder or Path(name)
    texts = {
        folder / "Cargo.toml": filled(
            "crate.toml",
            package=f"{PREFIX}{name}",
            congestion=quoted(str(crates / "congestion")),
            units=quoted(str(crates / "units")),
        ),
        folder / "src/lib.rs": filled("crate.rs", name=name, struct_name=type_name(name)),
        folder / ".gitignore": "/target/\n",
    }
    write_all(texts, force=force)
    steps = [f"cargo test --manifest-path {folder}/Cargo.toml", f"bentpipe wheel {folder}"]
    return Written(list(texts), steps)


def type_name(name: str) -> str:
    """The name of the Rust type: `my-reno` is `MyReno`."""
    camel = "".join(part.capitalize() for part in name.split("-"))
    used = filled("crate.rs", name="", struct_name="")
    return f"{camel}Control" if re.search(rf"\b{camel}\b", used) else camel


def write_all(texts: Mapping[Path, str], *, force: bool) -> None:
    """Write files with their folders; `OutputError` if one exists and `force` is not set."""
    for path in texts:
        if path.exists() and not force:
            raise OutputError(f"{path} exists already; choose another folder or add --force")
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}") from error
        save(path, text)
