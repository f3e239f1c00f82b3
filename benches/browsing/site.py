"""A site of 40 objects from three origins, whose bytes are always the same.

The document names styles, scripts and pictures. A style names fonts and a background, which the
browser requests once it has the style. A script fetches data, and then shows pictures that the data
name. So the longest chain is document, script, data, picture.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PAGE, STATIC, IMAGES = "page.test", "static.test", "images.test"
ORIGINS = (PAGE, STATIC, IMAGES)
DONE = "done"
"""Title of the document once the last object has arrived."""
SHOWN = 19
"""Pictures that the document names."""
LATER = 6
"""Pictures that the data name."""

Site = dict[str, dict[str, bytes]]
"""Contents by origin and path."""


@dataclass(frozen=True)
class Sizes:
    """Bytes of the objects of one kind, by their numbers."""

    first: int
    step: int

    def of(self, number: int) -> int:
        """Bytes of the object with this number."""
        return self.first + self.step * number


STYLES = Sizes(12_000, 14_000)
SCRIPTS = Sizes(18_000, 26_000)
FONTS = Sizes(22_000, 6_000)
PICTURES = Sizes(6_000, 2_200)


def noise(name: str, size: int) -> bytes:
    """Bytes without order, made of a name."""
    return hashlib.shake_256(name.encode()).digest(size)


def text(start: str, size: int) -> bytes:
    """A style or script, filled up with a comment."""
    fill = noise(start, size).hex()[: max(size - len(start) - 6, 0)]
    return f"{start}\n/*{fill}*/\n".encode()


def picture(name: str, size: int) -> bytes:
    """A picture of one pixel (PNG) with a private chunk that gives it its size."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel = chunk(b"IDAT", zlib.compress(b"\0\x80"))
    return (
        b"\x89PNG\r\n\x1a\n"
        + head
        + chunk(b"fiLl", noise(name, size))
        + pixel
        + chunk(b"IEND", b"")
    )


def style(number: int) -> bytes:
    """The style with this number; the first one names the fonts and a background."""
    rules = ""
    if number == 0:
        rules = "".join(
            f"@font-face{{font-family:f{font};src:url(/font{font}.woff2)}}"
            f".f{font}{{font-family:f{font},sans-serif}}"
            for font in range(3)
        )
        rules += f"body{{background:url(https://{IMAGES}/background.png)}}"
    return text(rules, STYLES.of(number))


def script(number: int) -> bytes:
    """The script with this number. The last one fetches data, and pictures that they name."""
    if number != LAST_SCRIPT:
        return text("void 0;", SCRIPTS.of(number))
    return text(
        """
const shown = name => new Promise(done => {
  const image = new Image();
  image.onload = image.onerror = done;
  image.src = name;
  document.body.append(image);
});
const fetched = name => fetch(name).then(answer => answer.json());
const opened = new Promise(done => addEventListener("load", done));
Promise.all([fetched("/more.json"), fetched("/user.json")])
  .then(([more]) => Promise.all([opened, ...more.pictures.map(shown)]))
  .then(() => { document.title = "DONE"; });
""".replace("DONE", DONE),
        SCRIPTS.of(number),
    )


LAST_SCRIPT = 4


def document() -> bytes:
    """The document of the page."""
    head = "".join(
        f'<link rel="stylesheet" href="https://{STATIC}/style{number}.css">' for number in range(3)
    )
    scripts = "".join(
        f'<script defer src="https://{STATIC}/script{number}.js"></script>'
        for number in range(LAST_SCRIPT + 1)
    )
    words = "".join(f'<p class="f{font}">Words in font {font}.</p>' for font in range(3))
    pictures = "".join(
        f'<img src="https://{IMAGES}/picture{number}.png" width="10" height="10">'
        for number in range(SHOWN)
    )
    filled = noise("document", 12_000).hex()
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page</title>'
        f'<link rel="icon" href="data:,">{head}{scripts}</head>'
        f"<body>{words}{pictures}<!--{filled}--></body></html>\n"
    ).encode()


def site() -> Site:
    """All objects."""
    later = [f"https://{IMAGES}/later{number}.png" for number in range(LATER)]
    more = json.dumps({"pictures": later, "fill": noise("more", 2_000).hex()})
    user = json.dumps({"name": "visitor", "fill": noise("user", 500).hex()})
    pictures = {
        f"/picture{number}.png": picture(f"picture{number}", PICTURES.of(number))
        for number in range(SHOWN)
    }
    return {
        PAGE: {
            "/index.html": document(),
            "/more.json": more.encode(),
            "/user.json": user.encode(),
        },
        STATIC: {
            **{f"/style{number}.css": style(number) for number in range(3)},
            **{f"/script{number}.js": script(number) for number in range(LAST_SCRIPT + 1)},
            **{f"/font{font}.woff2": noise(f"font{font}", FONTS.of(font)) for font in range(3)},
        },
        IMAGES: {
            **pictures,
            "/background.png": picture("background", 40_000),
            **{
                f"/later{number}.png": picture(f"later{number}", 9_000 + 3_000 * number)
                for number in range(LATER)
            },
        },
    }


def write(folder: Path) -> None:
    """Write the objects of each origin into a folder with its name."""
    for origin, objects in site().items():
        (folder / origin).mkdir(parents=True)
        for name, content in objects.items():
            (folder / origin / name.removeprefix("/")).write_bytes(content)
