"""Colours, dashes and shapes of series: contrast, one look for one thing, and numbers on axes."""

from __future__ import annotations

import colorsys
import json
import re
from importlib import resources
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.numbers import plain, typeset
from bentpipe.plots import Point, as_points, bar_figure, grid, interval_figure, line_figure, theme
from bentpipe.plots.looks import MOST_SERIES, Look, Wardrobe, dressed
from bentpipe.plots.marks import MOST_COLOURS
from bentpipe.plots.timeline import LOSSES
from bentpipe.report.rankings import COLOURS, STANDS
from bentpipe.report.render import in_pairs
from bentpipe.report.shown import Shown
from bentpipe.study import Parameter, Replications, Study
from bentpipe.study.quantities import shown
from conftest import SMALL
from svg_text import drawn_texts

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

# Source: WCAG 2.2, "relative luminance" and "contrast ratio".
TEXT, LINE = 4.5, 3.0


def linear(colour: str) -> np.ndarray[Any, Any]:
    """Linear red, green and blue of a colour of sRGB."""
    values = np.array([int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, two: str) -> float:
    """The contrast ratio of two colours."""
    low, high = sorted(float(linear(c) @ (0.2126, 0.7152, 0.0722)) for c in (one, two))
    return (high + 0.05) / (low + 0.05)


PALETTES = {"light": theme.PALETTE, "dark": theme.DARK_PALETTE}


@pytest.mark.parametrize("kind", PALETTES)
def test_lines_have_a_contrast_of_three(kind: str) -> None:
    fixed = theme.FIXED if kind == "light" else theme.FIXED.values()
    marks = [theme.PAIRS.get(c, c) if kind == "dark" else c for c in LOSSES.values()]
    for colour in (*PALETTES[kind], *fixed, *marks):
        for background in theme.BACKGROUNDS[kind]:
            assert contrast(colour, background) >= LINE, (colour, background)


def test_texts_have_a_contrast_of_four_and_a_half() -> None:
    style = (resources.files("bentpipe.report") / "templates/style.css").read_text()
    roots = re.findall(r":root[^{]*\{([^}]*)\}", style)
    assert len(roots) == 3
    for number, root in enumerate(roots):
        colours = dict(re.findall(r"--(\w+): (#\w{6});", root))
        kind = "dark" if number else "light"
        assert (colours["page"], colours["panel"]) == theme.BACKGROUNDS[kind]
        for name in ("ink", "faint", "accent", "good", "bad"):
            for background in ("page", "panel", "warn"):
                assert contrast(colours[name], colours[background]) >= TEXT, (kind, name)
    for ink, kind in ((theme.LIGHT, "light"), (theme.DARK, "dark")):
        for colour in ink[:2]:
            assert contrast(colour, theme.BACKGROUNDS[kind][0]) >= TEXT
    for cell in (grid.WORSE, grid.SAME, grid.BETTER):
        assert contrast(cell, grid.INK.lower()) >= TEXT


# Source: G. Machado, M. Oliveira, L. Fernandes, IEEE TVCG 15(6), 2009, severity 1.
SEEN = {
    "all colours": np.eye(3),
    "protanopia": np.array([
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]),
    "deuteranopia": np.array([
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]),
}  # fmt: skip
LEAST = 15.0
"""Distance in CIELAB from which readers distinguish colours of lines; 2.3 is just noticeable."""


def lab(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """CIELAB of linear sRGB."""
    xyz = np.array([
        [0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]
    ]) @ np.clip(values, 0, 1) / (0.9505, 1.0, 1.089)  # fmt: skip
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", PALETTES)
@pytest.mark.parametrize("sight", SEEN)
def test_colours_can_be_distinguished_without_red_or_green(kind: str, sight: str) -> None:
    points = [lab(SEEN[sight] @ linear(colour)) for colour in PALETTES[kind]]
    distances = [float(np.linalg.norm(a - b)) for a, b in combinations(points, 2)]
    assert min(distances) >= LEAST


def is_green(colour: str) -> bool:
    """True for hues from yellow-green to blue-green."""
    hue, _, saturation = colorsys.rgb_to_hls(*(int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)))
    return saturation > 0.15 and 75 <= hue * 360 <= 175


def test_green_never_means_worse() -> None:
    worse = [
        colour for word, colour in zip(STANDS.values(), COLOURS, strict=True) if "worse" in word
    ]
    assert len(worse) == 2
    for colour in (*worse, theme.WORSE, theme.FIXED[theme.WORSE], grid.WORSE, *LOSSES.values()):
        assert not is_green(colour), colour
    style = (resources.files("bentpipe.report") / "templates/style.css").read_text()
    assert not any(is_green(colour) for colour in re.findall(r"--bad: (#\w{6});", style))


def test_every_colour_of_a_mark_has_one_on_dark_pages() -> None:
    lines = {f"line {number}": ([0, 1], [number, number]) for number in range(8)}
    drawn = line_figure("many", "Lines", "x", "y", as_points(lines)).specification
    assert theme.PALETTE[7] in json.dumps(drawn)
    text = json.dumps(in_pairs(drawn))
    assert not re.search(r"#[0-9A-Fa-f]{6}", text)
    assert text.count("var(--mark-") >= 8


def test_all_series_of_a_figure_look_different() -> None:
    numbered = [Look.numbered(number) for number in range(MOST_SERIES)]
    for other in ("dash", "shape"):
        assert len({(look.colour, getattr(look, other)) for look in numbered}) == MOST_SERIES == 32
    points = [Point(f"{n}", 1.0 * x, n + x, n, n + 2) for n in range(MOST_SERIES) for x in (1, 2)]
    specification = interval_figure("p", "Points", "x", "y", points, "linear").to_dict()
    scales = {
        channel: layer["encoding"][channel]["scale"]["range"]
        for layer in specification["layer"]
        for channel in ("color", "shape")
        if channel in layer["encoding"]
    }
    assert len(set(zip(scales["color"], scales["shape"], strict=True))) == MOST_SERIES


def test_one_thing_has_one_colour_in_all_figures_of_a_page() -> None:
    wardrobe = Wardrobe(["newreno", "cubic", "cubic-hystart", "hybla"])
    means = wardrobe.looks(["newreno", "cubic", "cubic-hystart", "hybla"])
    differences = wardrobe.looks(["cubic minus newreno", "cubic-hystart minus newreno"])
    assert [look.colour for look in differences] == [means[1].colour, means[2].colour]
    parts = wardrobe.looks(["sent, hybla", "delivered, hybla", "hybla: first leg"])
    assert {look.colour for look in parts} == {means[3].colour}
    assert len({look.dash for look in parts}) == len({look.shape for look in parts}) == 3
    # More series of one thing than dashes differ in another way.
    many = wardrobe.looks([f"hybla, {n}" for n in range(9)])
    assert len({(look.colour, look.dash) for look in many}) == 9


def test_a_figure_takes_the_looks_of_its_page() -> None:
    lines = as_points({"cubic": ([0, 1], [0, 1]), "hybla": ([0, 1], [1, 0])})
    figure = line_figure("two", "Two", "x", "y", lines)
    looks = [Look.numbered(5), Look.numbered(9)]
    found = dressed(figure.specification, figure.series, looks)["encoding"]
    assert found["color"]["scale"]["range"] == [theme.PALETTE[5], theme.PALETTE[1]]
    assert found["strokeDash"]["scale"]["range"] == [theme.DASHES[0], theme.DASHES[1]]


@pytest.fixture(scope="module")
def many() -> Any:
    """A study with 36 variants that one figure would have as series."""
    return Study.make(
        name="many",
        scenario=bp.Scenario.parse(SMALL).with_({"duration": "2s"}),
        quantities=["flow.goodput_bps"],
        parameters=[
            Parameter("controller", "flow.0.controller", ("newreno", "cubic", "hybla", "bic")),
            Parameter(
                "mss", "flow.0.transport.mss", (500, 600, 700, 800, 900, 1000, 1100, 1200, 1300)
            ),
            Parameter("PER", "link.0.channel.per", (0.001, 0.01)),
        ],
        replications=Replications(count=1),
    ).run()


def test_more_series_than_can_be_distinguished_are_refused_with_the_way_out(many: Any) -> None:
    for kind in ("interval", "strip", "box"):
        with pytest.raises(bp.InputError, match=r"36 series: expected at most .*; .*panel="):
            many.plot("PER", "flow.goodput_bps", kind=kind)
    with pytest.raises(bp.InputError, match=r"36 series: .*panel="):
        many.plot("mss", "flow.goodput_bps", kind="ecdf", hue="controller")
    whole = many.plot("PER", "flow.goodput_bps", hue="controller", panel="mss")
    assert len(whole.series) == 4


def test_more_runs_than_can_be_distinguished_are_refused_with_the_way_out() -> None:
    run = bp.run(bp.Scenario.parse(SMALL).with_({"duration": "1s"}))
    labels = [f"run {number}" for number in range(MOST_SERIES + 1)]
    with pytest.raises(bp.InputError, match=r"33 series: .*panels=True"):
        bp.plot([run] * len(labels), "cwnd", labels=labels)
    panels = bp.plot([run] * len(labels), "cwnd", labels=labels, panels=True)
    assert panels.data["panel"].n_unique() == len(labels)


def test_a_page_of_more_runs_than_can_be_distinguished_is_refused(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    bp.run(bp.Scenario.parse(SMALL).with_({"duration": "1s"})).save(tmp_path / "run")
    names = [f"run-{number}" for number in range(MOST_SERIES + 1)]
    for name in names:
        (tmp_path / name).symlink_to(tmp_path / "run")
    done = bentpipe("report", *names, "--out", "all.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "33 series: expected at most 32 in one figure" in done.stderr
    assert "give fewer folders, or draw panels: bp.plot(runs, panels=True)" in done.stderr
    assert not (tmp_path / "all.html").exists()


def test_bars_are_at_most_as_many_as_colours() -> None:
    points = [Point(f"{number}", "all", 1.0 + number) for number in range(MOST_COLOURS + 1)]
    figure = bar_figure("bars", "Bars", "", "y", points)
    assert len(figure.series) == MOST_COLOURS
    assert "more cannot be distinguished" in figure.notes[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PER 1e-05", "PER 10⁻⁵"),
        ("1e-4", "10⁻⁴"),
        (
            "from 2.50e-6 to 3e-5",
            "from 2.5 \N{MULTIPLICATION SIGN} 10⁻⁶ to 3 \N{MULTIPLICATION SIGN} 10⁻⁵",
        ),
        ("1.5e\N{MINUS SIGN}7", "1.5 \N{MULTIPLICATION SIGN} 10⁻⁷"),
        ("ftp/errors/1e-05", "ftp/errors/1e-05"),
        ("lion2e5", "lion2e5"),
    ],
)
def test_powers_of_ten_are_typeset(text: str, expected: str) -> None:
    assert typeset(text) == expected


def test_small_parameters_have_a_power_of_ten() -> None:
    assert [plain(value) for value in (1e-5, 5e-4, 0.01, 0, 250)] == [
        "10⁻⁵", "5 \N{MULTIPLICATION SIGN} 10⁻⁴", "0.01", "0", "250",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["linear", "log"])
def test_axes_have_powers_of_ten(tmp_path: Path, kind: Any) -> None:
    points = [Point("PER 1e-05", 10.0**-n, 1e-5, 0.5e-5, 2e-5) for n in (5, 6, 7)]
    path = tmp_path / "figure.svg"
    interval_figure("p", "Points at PER 1e-05", "PER", "share", points, kind).save(path)
    texts = {text.text for text in drawn_texts(path.read_text())}
    assert {"10⁻⁵", "Points at PER 10⁻⁵"} <= texts
    assert not [text for text in texts if re.search(r"\de-\d|0\.0000", text)]


@pytest.mark.parametrize(
    "name",
    ["flow.goodput_bps", "flow.bytes", "flow.cwnd_bytes", "flow.p95_rtt_ms", "flow.completion_s",
     "link.forward.utilisation", "flow.limited_by_pacing", "link.forward.dropped_packets"],
)  # fmt: skip
@pytest.mark.parametrize("largest", [12.0, 3e5, 4e9])
def test_pages_have_the_units_of_the_terminal(name: str, largest: float) -> None:
    unit = bp.study.Quantity(name).unit
    form = Shown(name, "", unit, [largest])
    factor, expected = shown(name)
    assert form.unit == expected
    assert form.scaled(largest) == pytest.approx(largest * factor)
