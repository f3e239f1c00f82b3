"""axe-core in Chromium: what it finds on a page that is serious for people with disabilities."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMPACTS = ("serious", "critical")
RUN = """async (skipped) => {
  const rules = Object.fromEntries(skipped.map((name) => [name, { enabled: false }]));
  const found = await axe.run(document, { resultTypes: ["violations"], rules });
  return found.violations.map(({ id, impact, help, nodes }) => ({
    id, impact, help, nodes: nodes.map((node) => node.target.join(" ")),
  }));
}"""


@cache
def source() -> str:
    """The program, as the package of Playwright's users brings it. Nothing is downloaded."""
    pytest.importorskip("axe_playwright_python", reason="missing: axe-playwright-python")
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def findings(page: Page, skipped: tuple[str, ...] = ()) -> list[str]:
    """What is serious or critical, with the places of each; empty for a good page."""
    page.evaluate(source())
    found: list[dict[str, Any]] = page.evaluate(RUN, list(skipped))
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {', '.join(one['nodes'])}"
        for one in found
        if one["impact"] in IMPACTS
    ]
