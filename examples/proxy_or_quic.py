"""TCP with a split proxy or QUIC? Downloads and web pages over GEO at several packet error rates.

    python examples/proxy_or_quic.py [FOLDER] [--full]

compares TCP, TCP with PEPsal at the gateway, and QUIC, which no proxy splits. It prints two tables
of mean times with 95 % intervals, and writes proxy-or-quic-downloads.svg and
proxy-or-quic-pages.svg into FOLDER (here by default). --full runs more error rates, larger
downloads and 20 seeds in place of 3. Under one seed, all meet the same losses.
"""

import sys
from pathlib import Path
from typing import Any

import bentpipe as bp
from bentpipe.study import Parameter, Replications, Results, Study

full = "--full" in sys.argv[1:]
folders = [Path(argument) for argument in sys.argv[1:] if argument != "--full"]
folder = folders[0] if folders else Path()

PER = (0.0, 1e-5, 1e-4, 1e-3, 1e-2) if full else (0.0, 1e-3, 1e-2)
SEEDS = 20 if full else 3
DOWNLOAD = "20MB" if full else "5MB"
CONTROLLERS = ("cubic", "hybla", "bbr3")
PAGES = "Page of 2 MB: over TCP HTTP/1.1, six connections, no TLS; over QUIC HTTP/3"
PAGE = {"main_object": "50kB", "embedded_objects": 70, "embedded_object": "30kB"}

geo = bp.Scenario.load(Path(__file__).parent / "proxy-or-quic.toml")
pepsal = {"preset": "pepsal", "satellite": {"towards": ["terminal"]}}
ways = {f"{name}, TCP": geo.with_({"flow.0.controller": name}) for name in CONTROLLERS}
# The controller of PEPsal on the satellite is Hybla, whatever the server has.
ways["PEPsal, TCP"] = geo.with_({"node.0.proxy": pepsal})
for name in CONTROLLERS:
    over_quic = {"flow.0.controller": name, "flow.0.transport": {"protocol": "quic"}}
    ways[f"{name}, QUIC"] = geo.with_(over_quic)


def page_over(way: str) -> dict[str, Any]:
    """Web pages: HTTP/1.1 over six connections of TCP without TLS, or HTTP/3 over one of QUIC.

    These are two ways to load a page. Browsers use HTTP/2 with TLS over one connection of TCP.
    """
    connections = {"connections": 6} if way.endswith("TCP") else {}
    return {"web": {**PAGE, **connections, "pages": 4 if full else 2, "interval": "60s"}}


def study(name: str, quantity: str, scenarios: dict[str, bp.Scenario]) -> Results:
    """All ways at all error rates, with the same seeds."""
    return Study.make(
        name=f"proxy-or-quic-{name}",
        scenario=scenarios,
        parameters=[Parameter("PER", "link.1.channel.per", PER)],
        quantities=[quantity],
        replications=Replications(count=SEEDS),
    ).run()


def show(title: str, results: Results) -> None:
    """A table with a row for each way, and a column for each error rate."""
    cells = results.summary["cells"]
    print(f"\n{title}, mean in s (95 % interval)")
    print(f"{'':11}" + "".join(f"{f'PER {per:g}':>23}" for per in PER))
    for number, way in enumerate(ways):
        row = cells[number * len(PER) : (number + 1) * len(PER)]
        print(f"{way:11}" + "".join(f"{cell_text(cell):>23}" for cell in row))


def cell_text(cell: dict[str, Any]) -> str:
    """A mean with its interval, or how many runs did not complete."""
    if cell["undefined"]:
        return f"{cell['undefined']} of {SEEDS} incomplete"
    if cell["ci95"] is None:  # all runs are the same, as without losses
        return f"{cell['mean']:.1f}"
    low, high = cell["ci95"]
    return f"{cell['mean']:.1f} ({low:.1f} to {high:.1f})"


print(geo.name, "over 10/2 Mbit/s, 520 ms")
for name, quantity, scenarios in (
    ("downloads", "flow.completion_s", {
        way: scenario.with_({"flow.0.traffic": {"download": DOWNLOAD}})
        for way, scenario in ways.items()
    }),
    ("pages", "page.response_s", {
        way: scenario.with_({"flow.0.traffic": page_over(way)})
        for way, scenario in ways.items()
    }),
):  # fmt: skip
    results = study(name, quantity, scenarios)
    show(f"Download of {DOWNLOAD}" if name == "downloads" else PAGES, results)
    figure = results.plot("scenario", quantity, hue="PER")
    figure.save(folder / f"proxy-or-quic-{name}.svg")
