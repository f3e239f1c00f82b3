"""Refuses comments that only their author can read: `scripts/words.py` lists them.

A comment begins with a noun or a verb of the field, and names the thing. `What ...` and
`Whether ...` name the type of the sentence instead. A line of a comment has at most 100 characters.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST_WORDS = re.compile(r"^\s*//[/!] (What|Whether)\b")
COMMENT = re.compile(r"^\s*//")
WIDTH = 100
PRIVATE = re.compile(r"\b(so many|whoever|what of it|of them what)\b", re.IGNORECASE)
INSTEAD = {
    "What": "name the thing: `Bytes in flight`, `Outcome of ...`",
    "Whether": "`Returns true if ...` of a function, `True if ...` of a field",
}


def found(path: Path) -> list[str]:
    """The comments of a file that break the rule, as messages."""
    messages = []
    place = path.relative_to(ROOT)
    previous = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        is_first = not previous.strip().startswith(("///", "//!"))
        if (match := FIRST_WORDS.match(line)) and is_first:
            word = match[1]
            messages.append(
                f"{place}:{number}: expected another beginning than `{word}`: {INSTEAD[word]}"
            )
        if "//" in line and (match := PRIVATE.search(line.split("//", 1)[1])):
            messages.append(
                f"{place}:{number}: expected the name of the quantity, found `{match[1]}`"
            )
        if len(line) > WIDTH and COMMENT.match(line):
            messages.append(f"{place}:{number}: expected at most {WIDTH} characters in a comment")
        previous = line
    return messages


def main() -> int:
    """Checks all Rust files of the repository."""
    listed = subprocess.check_output(["git", "ls-files", "*.rs"], cwd=ROOT, text=True)
    messages = [message for name in listed.splitlines() for message in found(ROOT / name)]
    print(*messages, sep="\n", end="\n" if messages else "")
    return 1 if messages else 0


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    sys.exit(main())
