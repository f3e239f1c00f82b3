#!/usr/bin/env python3
"""What is made from the code: stubs, API reference, man page, lists and references in the manual.

    generated.py            writes all of it
    generated.py --check    names the files that would change; exit status 1 if there are any

The engine must be built (`make engine`). Figures are made by `scripts/images.py`, outputs of the
notebook by `scripts/notebook.py`: these take longer.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import api
import bentpipe
import manual
import pages
import stubs
from bentpipe import study
from bentpipe.cli import groups

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).resolve().parent.parent / "docs"
SCENARIO = DOCS / "scenario.md"
STUDIES = DOCS / "studies.md"
KEYS_OF_STUDIES = re.compile(r"(do not edit\. -->\n).*?(\n<!-- End)", re.DOTALL)


def studies() -> str:
    """The page about studies with the table of their keys as the code has them now."""
    text = STUDIES.read_text(encoding="utf-8")
    return KEYS_OF_STUDIES.sub(lambda found: found[1] + study.reference() + found[2], text)


def documents() -> Iterator[tuple[Path, str]]:
    """Files and what they should say; the later ones read the earlier ones."""
    yield stubs.STUBS, stubs.updated(stubs.STUBS.read_text(encoding="utf-8"))
    yield groups.SUMMARIES, groups.written()
    yield api.PAGE, api.page()
    yield manual.PAGE, manual.page()
    for page in pages.MAKERS:
        yield page, pages.written(page)
    yield SCENARIO, bentpipe.reference()
    yield STUDIES, studies()


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args().check
    changed = []
    for file, text in documents():
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        changed.append(file)
        if not check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    for file in changed:
        print(f"{file.relative_to(DOCS.parent)}: {'run `make generated`' if check else 'written'}")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
