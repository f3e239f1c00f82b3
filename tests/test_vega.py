"""The bundle of Vega in the cache of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import vl_convert

from bentpipe.report import vega

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The bundles that vl-convert makes, with an empty cache."""
    bundles: list[str] = []

    def bundle(snippet: object) -> str:
        assert snippet is None
        bundles.append(f"vega of café {len(bundles)}")
        return bundles[-1]

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setattr(vega, "kept_at", lambda: tmp_path / "cache" / "vega-1.js")
    return bundles


def test_it_is_made_once(made: list[str]) -> None:
    assert [vega.vega(), vega.vega()] == ["vega of café 0"] * 2
    assert len(made) == 1
    assert [path.name for path in vega.kept_at().parent.iterdir()] == ["vega-1.js"]


@pytest.mark.parametrize("damage", [b"", b"no checksum", b"\xff\xfe"])
def test_a_damaged_one_is_made_again(made: list[str], damage: bytes) -> None:
    vega.vega()
    vega.kept_at().write_bytes(damage)
    assert [vega.vega(), vega.vega()] == ["vega of café 1"] * 2
    kept = vega.kept_at().read_bytes()
    vega.kept_at().write_bytes(kept[:-1])
    assert vega.vega() == "vega of café 2"


def test_without_a_cache_it_is_made_each_time(made: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert [vega.vega(), vega.vega()] == made == ["vega of café 0", "vega of café 1"]


def test_each_version_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vega, "version", lambda package: f"9 of {package}")
    assert vega.kept_at().name == "vega-9 of vl-convert-python.js"
