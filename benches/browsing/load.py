#!/usr/bin/env python3
"""Loads of the site by headless Chromium; `benches/browser.py` runs it on the host of the browser.

    load.py --http 2 --loads 3 --key HASH --server HOST --out FOLDER

Each load has a new context of the browser, which has no cache, no connection and no session of TLS.
Its HTTP archive is `FOLDER/N.har`, and `FOLDER/loads.json` has the load times in seconds. The
archive is made of the events of the DevTools protocol, as the developer tools of Chromium do it.
Playwright's own archives do not have the time for which a request waited for a connection.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from browsing.archive import Recorder
from browsing.site import DONE, ORIGINS, PAGE, site

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PATIENCE_S = 120
ALL = sum(map(len, site().values()))
"""Number of objects of the site."""
NAMES = {"1.1": "http/1.1", "2": "h2", "3": "h3"}
"""Names of the versions of HTTP in the browser (ALPN, RFC 7301)."""


def wait_for(host: str) -> str:
    """The address of the server once it accepts connections."""
    address = socket.gethostbyname(host)
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection((address, 443), timeout=5).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return address


def arguments(http: str, key: str, address: str) -> list[str]:
    """The arguments of Chromium."""
    found = [
        "--no-sandbox",
        f"--host-resolver-rules={','.join(f'MAP {origin} {address}' for origin in ORIGINS)}",
        f"--ignore-certificate-errors-spki-list={key}",
    ]
    if http == "3":
        hosts = ",".join(f"{origin}:443" for origin in ORIGINS)
        return [*found, "--enable-quic", f"--origin-to-force-quic-on={hosts}"]
    return [*found, "--disable-quic"]


def main() -> None:
    """Load the site, and write archives and load times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--http", choices=NAMES, required=True)
    parser.add_argument("--loads", type=int, required=True)
    parser.add_argument("--key", required=True, help="hash of the server's public key")
    parser.add_argument("--server", required=True, help="host of the server")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    address = wait_for(options.server)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=arguments(options.http, options.key, address),
        )
        found = [
            load(browser, NAMES[options.http], options.out / f"{number}.har")
            for number in range(options.loads)
        ]
        browser.close()
    (options.out / "loads.json").write_text(json.dumps(found))


def load(browser: Browser, protocol: str, archive: Path) -> float:
    """Load the site once, and write its archive. Returns the load time in seconds.

    The load time is that from the request of the document to the last byte of the last object.
    Exits if the browser has used another version of HTTP.
    """
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(1e3 * PATIENCE_S)
    recorder = Recorder(context.new_cdp_session(page))
    page.goto(f"https://{PAGE}/")
    page.wait_for_function(f'document.title == "{DONE}"')
    recorder.wait_for(ALL, page)
    found = recorder.archive(browser.version)
    archive.write_text(json.dumps(found))
    context.close()
    used = {one["response"]["httpVersion"] for one in found["log"]["entries"]}
    if used != {protocol}:
        raise SystemExit(f"expected {protocol}, the browser has used {', '.join(sorted(used))}")
    return recorder.load_s()


if __name__ == "__main__":
    main()
