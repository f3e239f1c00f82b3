#!/usr/bin/env python3
"""The tables of docs/fidelity.md, made by running both backends: `make fidelity`.

    fidelity.py                       every suite (an hour of real time)
    fidelity.py short-flows pages     these suites; the others keep their results
    fidelity.py --tables              write the tables again from docs/fidelity.json
    fidelity.py --check               fail if the page has other tables than those

Each suite is a scenario, its variants and its seeds. Results go to docs/fidelity.json, each with
its date, commit and kernel, and from there into the page, between the comments that carry the name
of the suite. The kernel runs are in real time: the machine must do nothing else. They are kept in
`.cache/fidelity` and not repeated, so that a changed simulator is compared within a minute. Delete
that folder after a change of the testbed or of `bpf/`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import statistics
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.console import late_progress
from bentpipe.fidelity.experiment import Experiment, compare, total_runs
from bentpipe.fidelity.plots import figure
from bentpipe.fidelity.tables import to_dict
from bentpipe.numbers import decimals, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.fidelity.experiment import Cell

ROOT = Path(__file__).resolve().parent.parent
GEO = ROOT / "examples" / "geo-fidelity.toml"
TWO_FLOWS = ROOT / "benches" / "scenarios" / "two-flows.toml"
QUIC = ROOT / "benches" / "scenarios" / "quic.toml"
EDGES = ROOT / "benches" / "scenarios" / "edges" / "edges.toml"
# Overrides name files from the current folder, which is that of the project in `run`.
TRACES = "benches/scenarios/edges"
RESULTS = ROOT / "docs" / "fidelity.json"
PAGE = ROOT / "docs" / "fidelity.md"
README = ROOT / "README.md"
KERNEL_RUNS = ROOT / ".cache" / "fidelity"
FIGURE = ROOT / "docs" / "images" / "fidelity.png"

CONTROLLERS = {
    "reno": "reno",
    "cubic": '{ name = "cubic", slow_start = "hystart" }',
    "bbr": "bbr",
    # Flow control is not TCP-ADaLR's to break in a real kernel.
    "adalr": '{ name = "adalr", rwnd = "off" }',
    "aliad": "aliad",
    "hybla": "hybla",
    "westwood-plus": "westwood-plus",
}
# Those of the simulator on both backends, with their own defaults.
QUIC_CONTROLLERS = ("cubic", "bbr", "hybla", "adalr")
LOADED = ("adalr", "aliad", "hybla", "westwood-plus")

# A queue of one bandwidth-delay product of 10 Mbit/s.
RTTS = {
    "20 ms": {"link.1.delay": "0ms", "link.1.forward.queue.packets": "17"},
    "100 ms": {"link.1.delay": "40ms", "link.1.forward.queue.packets": "83"},
    "520 ms": {"link.1.delay": "250ms", "link.1.forward.queue.packets": "433"},
}
PERS = {
    "PER 0": {"link.1.forward.channel.per": "0"},
    "PER 1e-4": {"link.1.forward.channel.per": "1e-4"},
    "PER 1e-3": {"link.1.forward.channel.per": "1e-3"},
    "PER 1e-2": {"link.1.forward.channel.per": "1e-2"},
}
SIZES = {
    name: {"flow.0.traffic.download": name.replace(" ", "")} for name in ("10 kB", "100 kB", "1 MB")
}
CONDITIONS = {
    "as it is": {},
    "`timestamps = false`": {"flow.0.transport.timestamps": "false"},
    "ECN": {
        "flow.0.transport.ecn": "true",
        # Below the queue's limit on each of the paths.
        "link.1.forward.ecn_marking": "{ packets = 12, weight = 1 }",
    },
    # Half of the ACKs are lost, so that each of the rest acknowledges more.
    "stretch ACKs": {"link.1.backward.channel.per": "0.5"},
}
PAGES = (
    '{ main_object = "50kB", embedded_objects = 70, embedded_object = "30kB", connections = 6, '
    'pages = 2, interval = "30s" }'
)
SMALL_PAGES = (
    '{ main_object = "14kB", embedded_objects = 3, embedded_object = "28kB", connections = 1, '
    'pages = 2, interval = "5s" }'
)
# Each on the link that has the losses.
MECHANISMS = {
    name: {f"link.1.forward.{key}": name}
    for key, names in {
        "aqm": ("none", "codel", "fq-codel", "pie", "red", "dualpi2"),
        "arq": ("go-back-n", "selective-repeat"),
        "fec": ("reed-solomon",),
    }.items()
    for name in names
}
# Middleboxes, each where it has something to do: ACKs that leave the client on a thin link, and
# losses on a short last hop behind a gateway that is not the bottleneck.
MECHANISMS |= {
    "ack-filter": {
        "node": '[{ name = "client", middlebox = "ack-filter" }]',
        "link.1.backward.rate": "64kbit/s",
    },
    "snoop": {
        "node": '[{ name = "gateway", middlebox = "snoop" }]',
        "link.0.delay": "40ms",
        "link.0.rate": "10Mbit/s",
        "link.0.queue.packets": "332",
        "link.1.delay": "10ms",
        "link.1.forward.rate": "50Mbit/s",
    },
}
# Split proxies at the gateway, by the controller of the satellite leg. In the kernel: the daemon.
SATELLITE = "node.0.proxy.satellite"
GATEWAY = '[{ name = "gateway", proxy = { satellite = { towards = ["client"] } } }]'
ONE_PAGE = (
    '{ main_object = "50kB", embedded_objects = 70, embedded_object = "30kB", connections = 6, '
    "pages = 1 }"
)
LINUX = ("flow.0.transport.recovery=linux",)
TWO_LINUX = {"recovery linux": (*LINUX, "flow.1.transport.recovery=linux")}
REORDERING = f'{{ file = "{TRACES}/reordering.csv", loop = true, phase = "random" }}'
# The path of trains has no rate of its own on the way back.
TRAINS = {
    f"ACK trains of {length} ms, RTT {name}": {
        **RTTS[name],
        "link.1.forward.queue.packets": packets,
        "link.1.backward.trace": (
            f'{{ file = "{TRACES}/trains-{length}.csv", loop = true, phase = "random" }}'
        ),
    }
    for name, packets in (("520 ms", "433"), ("20 ms", "83"))
    for length in (5, 20, 80)
}
EDGE_AXIS = {
    "data overtaken": {"link.1.reorder": "true", "link.1.forward.trace": REORDERING},
    "ACKs overtaken": {"link.1.reorder": "true", "link.1.backward.trace": REORDERING},
    "hand-over to a path 80 ms shorter": {
        "link.1.reorder": "true",
        "link.1.event": '[{ at = "8s", delay = "210ms" }]',
    },
    **TRAINS,
    "fade of 6 s": {"link.1.forward.trace": f'{{ file = "{TRACES}/fade.csv" }}'},
    "fade of 2 s": {"link.1.forward.trace": f'{{ file = "{TRACES}/short-fade.csv" }}'},
}
BURSTS = (
    '{ main_object = "1500kB", embedded_objects = 0, embedded_object = "1kB", connections = 1, '
    'pages = 3, interval = "5s" }'
)
IDLE_AXIS = {
    "pauses of 5 s": {},
    "the same, `idle_restart = false`": {"flow.0.transport.idle_restart": "false"},
}
PAIRS = (
    ("reno", "cubic"), ("reno", "bbr"), ("cubic", "bbr"), ("hybla", "reno"),
    ("westwood-plus", "cubic"), ("adalr", "reno"), ("aliad", "cubic"),
)  # fmt: skip

HEADS = {
    "as written": "As written",
    "the same QUIC": "QUIC",
    "recovery linux": '`recovery = "linux"`, and CUBIC and Reno with `variant = "linux"`',
}
LIKE_LINUX = {name: f'{{ name = "{name}", variant = "linux" }}' for name in ("cubic", "reno")}
"""Controllers that differ in Linux, for the model `recovery linux`."""

Choices = dict[str, dict[str, str]]
"""Name for people -> overrides."""


@dataclass(frozen=True)
class Suite:
    """One scenario in all combinations of the `axes`; rows are the first, columns the others."""

    axes: Sequence[Choices]
    quantity: str = "goodput"
    sets: tuple[str, ...] = ()
    seeds: int = 2
    parallel: int = 12
    file: Path = GEO
    models: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"recovery linux": LINUX})
    flow: int | None = None
    figure: bool = False
    medians: bool = False
    """The table compares medians, for runs that may end in one of several ways."""

    def variants(self) -> list[tuple[tuple[str, ...], dict[str, str]]]:
        """The names and the overrides of each variant."""
        return [
            (
                tuple(name for name, _ in chosen),
                {path: value for _, sets in chosen for path, value in sets.items()},
            )
            for chosen in product(*(axis.items() for axis in self.axes))
        ]


def like_linux(overrides: Mapping[str, str]) -> tuple[str, ...]:
    """Further overrides of the model `recovery linux` for a variant with these overrides."""
    controllers = tuple(
        f"{path}={LIKE_LINUX[name]}"
        for path, value in overrides.items()
        for name in LIKE_LINUX
        if value == written(name)
    )
    is_split = f"{SATELLITE}.controller" in overrides
    return (*controllers, f"{SATELLITE}.recovery=linux") if is_split else controllers


def written(name: str) -> str:
    """A controller of the tables as a value of a scenario."""
    value = CONTROLLERS[name]
    return value if "{" in value else f'"{value}"'


def with_controller(name: str, flow: int = 0) -> dict[str, str]:
    """The overrides that give a flow this controller."""
    overrides = {f"flow.{flow}.controller": written(name)}
    if name == "bbr":
        # BBR in Linux is always paced by Linux's rules.
        overrides[f"flow.{flow}.transport.pacing"] = "linux"
    return overrides


def with_proxy(name: str) -> dict[str, str]:
    """The overrides of a proxy whose satellite leg has this controller."""
    overrides = {"flow.0.controller": written("cubic"), "node": GATEWAY}
    overrides[f"{SATELLITE}.controller"] = written(name)
    if name == "bbr":
        overrides["flow.0.transport.pacing"] = "linux"
    return overrides


PROXY_AXIS = {f"not split, {name}": with_controller(name) for name in ("cubic", "hybla")} | {
    f"split, {name}": with_proxy(name) for name in ("cubic", "hybla", "bbr")
}
CONTROLLER_AXIS = {name: with_controller(name) for name in CONTROLLERS}
THREE_AXIS = {name: CONTROLLER_AXIS[name] for name in ("reno", "cubic", "bbr")}
PAIR_AXIS = {
    f"{one} with {two}": with_controller(one) | with_controller(two, flow=1) for one, two in PAIRS
}

SUITES = {
    "downloads": Suite(
        axes=(CONTROLLER_AXIS, PERS),
        seeds=5,
        models={"as written": (), "recovery linux": LINUX},
        figure=True,
    ),
    "short-flows": Suite(
        axes=(CONTROLLER_AXIS, RTTS, SIZES),
        quantity="completion",
        sets=("duration=40s", "link.1.forward.channel.per=0"),
        seeds=3,
    ),
    "lossy-short-flows": Suite(
        axes=(CONTROLLER_AXIS, RTTS, SIZES),
        quantity="completion",
        sets=("duration=60s", "link.1.forward.channel.per=1e-2"),
        # Most runs of the smallest flows lose nothing.
        seeds=15,
    ),
    "conditions": Suite(
        axes=(CONTROLLER_AXIS, RTTS, CONDITIONS),
        sets=("duration=30s", "link.1.forward.channel.per=0", "flow.0.traffic.download=50MB"),
        seeds=4,
    ),
    "pages": Suite(
        axes=(CONTROLLER_AXIS, {name: PERS[name] for name in ("PER 0", "PER 1e-3")}),
        quantity="completion",
        sets=("duration=120s", f"flow.0.traffic={{ web = {PAGES} }}"),
    ),
    "small-pages": Suite(
        axes=(CONTROLLER_AXIS, RTTS),
        quantity="completion",
        sets=(
            "duration=40s",
            "link.1.forward.channel.per=0",
            f"flow.0.traffic={{ web = {SMALL_PAGES} }}",
        ),
    ),
    "mechanisms": Suite(
        axes=(MECHANISMS, {name: CONTROLLER_AXIS[name] for name in ("reno", "cubic")}, PERS),
        # Four bandwidth-delay products, so that the mechanism acts before the limit of the queue.
        sets=(
            "duration=30s",
            "flow.0.traffic.download=50MB",
            "link.1.delay=40ms",
            "link.1.forward.queue.packets=332",
        ),
        seeds=6,
    ),
    "two-flows": Suite(
        axes=(PAIR_AXIS, RTTS),
        file=TWO_FLOWS,
        seeds=5,
        # With twelve at once on two cores the kernel's NewReno has a sixth less next to CUBIC.
        parallel=3,
        flow=0,
        models=TWO_LINUX,
    ),
    # A run has one of two outcomes, or much noise: five seeds are too few.
    "two-flows-bbr": Suite(
        axes=(
            {name: PAIR_AXIS[name] for name in ("reno with bbr", "cubic with bbr")},
            {"520 ms": RTTS["520 ms"]},
        ),
        file=TWO_FLOWS,
        seeds=20,
        parallel=3,
        flow=0,
        models=TWO_LINUX,
    ),
    # Its share depends on few losses, and twelve at once on two cores lower it in the kernel.
    "two-flows-westwood": Suite(
        axes=(
            {name: PAIR_AXIS[name] for name in ("westwood-plus with cubic",)},
            {"100 ms": RTTS["100 ms"]},
        ),
        file=TWO_FLOWS,
        seeds=20,
        parallel=3,
        flow=0,
        models=TWO_LINUX,
    ),
    "proxy-downloads": Suite(
        axes=(PROXY_AXIS, PERS),
        quantity="completion",
        sets=("duration=200s", "flow.0.traffic.download=5MB"),
        seeds=5,
        parallel=3,
    ),
    "proxy-pages": Suite(
        axes=(PROXY_AXIS, PERS),
        quantity="completion",
        sets=("duration=100s", f"flow.0.traffic={{ web = {ONE_PAGE} }}"),
        seeds=5,
        parallel=3,
    ),
    "quic-downloads": Suite(
        axes=({name: {"flow.0.controller": f'"{name}"'} for name in QUIC_CONTROLLERS}, PERS),
        file=QUIC,
        seeds=8,
        # Its cryptography takes the time of the machine.
        parallel=3,
        models={"the same QUIC": ()},
    ),
    "bbr-stretch": Suite(
        axes=(
            {"bbr": CONTROLLER_AXIS["bbr"] | CONDITIONS["stretch ACKs"]},
            RTTS,
        ),
        sets=("duration=30s", "link.1.forward.channel.per=0", "flow.0.traffic.download=50MB"),
        seeds=20,
    ),
    "edges": Suite(axes=(EDGE_AXIS, THREE_AXIS), file=EDGES, seeds=5, parallel=5, medians=True),
    "edges-idle": Suite(
        axes=(IDLE_AXIS, THREE_AXIS),
        file=EDGES,
        quantity="completion",
        sets=("duration=30s", f"flow.0.traffic={{ web = {BURSTS} }}"),
        seeds=5,
        parallel=5,
        medians=True,
    ),
}


@contextmanager
def loaded() -> Iterator[None]:
    """The kernel with the controllers of the tables in it."""
    before = {row.name for row in bentpipe.kernel_status()}
    missing = [name for name in LOADED if name not in before]
    for name in missing:
        bentpipe.kernel_load(name)
    try:
        yield
    finally:
        for name in missing:
            bentpipe.kernel_unload(name)


def add_medians(cell: dict[str, Any], compared: Cell, quantity: str) -> None:
    """Add the medians of both backends and the range of the kernel's runs to a cell."""
    name = {"goodput": "goodput_bps", "completion": "completion_s"}[quantity]
    kernel = getattr(compared.kernel, name).values()
    middle = statistics.median(kernel)
    cell["kernel"]["range"] = [min(kernel), max(kernel)]
    cell["kernel"]["median"] = middle
    for model, comparison in zip(cell["models"], compared.comparisons, strict=True):
        found = statistics.median(getattr(comparison.runs, name).values())
        model["simulator"]["median"] = found
        model["median_difference"] = 100 * (found / middle - 1)


def run(name: str, suite: Suite) -> dict[str, Any]:
    """Run a suite on both backends; its object in the results."""
    os.chdir(ROOT)
    named = suite.variants()
    experiment = Experiment(
        file=suite.file,
        sets=suite.sets,
        variants=[overrides for _, overrides in named],
        models=suite.models,
        seeds=range(1, 1 + suite.seeds),
        parallel=suite.parallel,
        flow=suite.flow,
        kernel_runs=KERNEL_RUNS,
        own={
            (number, "recovery linux"): like_linux(overrides)
            for number, (_, overrides) in enumerate(named)
        },
    )
    with late_progress(name, total_runs(experiment)) as progress:
        cells = compare(experiment, progress)
    if suite.figure:
        figure(cells, "geo-fidelity").save(FIGURE)
    found = to_dict(experiment, name, cells)
    for cell, (names, _) in zip(found["cells"], named, strict=True):
        cell["names"] = list(names)
    if suite.medians:
        for cell, compared in zip(found["cells"], cells, strict=True):
            add_medians(cell, compared, suite.quantity)
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": commit(),
        "kernel": platform.release().split("-")[0],
        "quantity": suite.quantity,
        **found,
    }


def commit() -> str:
    """The commit of the sources, with a mark where they have changed since."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.strip()


def differences(found: dict[str, Any], model: str) -> dict[tuple[str, ...], dict[str, Any] | None]:
    """Difference of the model from the kernel in percent by the names of the variant."""
    return {
        tuple(cell["names"]): (
            {"mean": compared["median_difference"], "ci95": None}
            if "median_difference" in compared
            else compared[f"{found['quantity']}_difference"]
        )
        for cell in found["cells"]
        for compared in cell["models"]
        if compared["model"] == model
    }


def texts(found: dict[str, Any], model: str) -> dict[tuple[str, ...], str]:
    """The text of each variant in the table of a model."""
    if "median" in found["cells"][0]["kernel"]:
        return {
            tuple(cell["names"]): median_text(cell["kernel"], compared, found["quantity"])
            for cell in found["cells"]
            for compared in cell["models"]
            if compared["model"] == model
        }
    return {names: cell_text(each) for names, each in differences(found, model).items()}


def table(found: dict[str, Any]) -> str:
    """A suite as Markdown: one sentence for each model, then the differences."""
    what = {"goodput": "goodput", "completion": "completion time"}[found["quantity"]]
    has_medians = "median" in found["cells"][0]["kernel"]
    what = f"{what} (median of the runs)" if has_medians else what
    lines = []
    for model in found["models"]:
        by_names = texts(found, model)
        rows = list(dict.fromkeys(names[0] for names in by_names))
        columns = list(dict.fromkeys(names[1:] for names in by_names))
        means = differences(found, model).items()
        sizes = {names: abs(each["mean"]) for names, each in means if each is not None}
        where = max(sizes, key=lambda names: sizes[names])
        within = sum(size <= 10 for size in sizes.values())
        lines += [
            f"{HEADS.get(model, model)}: {what} differs by "
            f"{decimals(statistics.median(sizes.values()), 1)} % in the median and by "
            f"{decimals(sizes[where], 1)} % at most ({', '.join(where)}); "
            f"{within} of {len(sizes)} variants are within 10 %.",
            "",
            f"| difference % | {' | '.join(', '.join(column) for column in columns)} |",
            f"|---|{'---:|' * len(columns)}",
        ]
        lines += [
            f"| {row} | "
            + " | ".join(by_names.get((row, *column), "-") for column in columns)
            + " |"
            for row in rows
        ]
        lines.append("")
    invalid = sum(cell["invalid"] for cell in found["cells"])
    seeds = len(found["seeds"])
    lines.append(
        f"{found['date']}, commit {found['commit']}, Linux {found['kernel']}, {seeds} seeds"
        + (f"; {invalid} kernel runs were not valid and are left out." if invalid else ".")
    )
    return "\n".join(lines)


def cell_text(difference: dict[str, Any] | None) -> str:
    """A difference with its interval."""
    if difference is None:
        return "-"
    # Not "-0.0".
    mean = signed(round(difference["mean"], 1) + 0.0, places=1)
    return mean if difference["ci95"] is None else f"{mean} ±{decimals(difference['ci95'], 1)}"


def median_text(kernel: dict[str, Any], compared: dict[str, Any], quantity: str) -> str:
    """A difference of medians with the range of the kernel's runs."""
    scale, unit = {"goodput": (1e-6, "Mbit/s"), "completion": (1.0, "s")}[quantity]
    difference = signed(round(compared["median_difference"], 1) + 0.0, places=1)
    low, high = (decimals(scale * end, 2) for end in kernel["range"])
    between = low if low == high else f"{low} to {high}"
    return f"{difference} ({between} {unit})"


def page_with(results: dict[str, Any]) -> str:
    """The page with the table of each suite between its comments."""
    page = PAGE.read_text()
    for name, found in results.items():
        begin, end = f"<!-- made by benches/fidelity.py: {name} -->\n", "<!-- end -->"
        before, found_begin, rest = page.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            sys.exit(f"{PAGE}: expected a place for the suite {name}: {begin}{end}")
        page = f"{before}{begin}\n{table(found)}\n\n{end}{after}"
    return page


def readme_sentence(results: dict[str, Any]) -> str:
    """What the README says of the downloads."""
    by_model = {total["model"]: total for total in results["downloads"]["summary"]}
    like_linux, as_written = by_model["recovery linux"], by_model["as written"]
    return (
        f"Goodput differs by {decimals(like_linux['median'], 1)} % in the median and "
        f'{decimals(like_linux["largest"], 1)} % at most with `recovery = "linux"`, and by '
        f"{decimals(as_written['median'], 1)} % and {decimals(as_written['largest'], 1)} % with "
        "the recovery of RFC 6675."
    )


def main() -> None:
    """Run what was asked for, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--tables", action="store_true", help="run nothing, write the tables")
    parser.add_argument(
        "--check", action="store_true", help="run nothing, fail if the page has other tables"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.suites if name not in SUITES]:
        parser.error(f"no suite {unknown[0]}: expected {', '.join(SUITES)}")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.check:
        if page_with(results) != PAGE.read_text():
            sys.exit(f"{PAGE}: not the tables of {RESULTS.name}; run fidelity.py --tables")
        if readme_sentence(results) not in " ".join(README.read_text().split()):
            sys.exit(f"{README}: expected: {readme_sentence(results)}")
        return
    if not options.tables:
        with loaded():
            for name in options.suites or SUITES:
                results[name] = run(name, SUITES[name])
                RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page_with(results))


if __name__ == "__main__":
    main()
