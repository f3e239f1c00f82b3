#!/usr/bin/env python3
"""Downloads and pages over GEO with and without a split proxy at the gateway, in the simulator.

split.py [--write]      prints a table; --write puts it into docs/proxy.md
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import bentpipe

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "benches/scenarios/split-proxy.toml"
PAGE = ROOT / "docs/proxy.md"

CONTROLLERS = {"CUBIC": "cubic", "Hybla": "hybla", "BBR": "bbr"}
TRAFFIC = {
    "5 MB": '{ download = "5MB" }',
    "page": "{ web = { pages = 1, connections = 6 } }",
}
PERS = ("0", "1e-4", "1e-3", "1e-2")
SEEDS = range(1, 20)


def median(text: str) -> float:
    """Seconds until the download or the page is complete; all runs complete."""
    scenario = bentpipe.Scenario.parse(text)
    seconds = []
    for run in bentpipe.run_many([(scenario, seed) for seed in SEEDS]):
        (flow,) = run.recording.flows
        took = flow.completion_s if flow.page_response_s is None else flow.page_response_s
        if took is None:
            sys.exit(f"seed {run.seed} does not complete within {scenario.duration_s} s")
        seconds.append(took)
    return statistics.median(seconds)


def unsplit(written: str) -> str:
    """The scenario without its proxies."""
    return "\n".join(line for line in written.splitlines() if not line.startswith("proxy = "))


def table(columns: dict[str, str], pers: tuple[str, ...]) -> str:
    """Rows of traffic and PER, and a column for each scenario."""
    lines = [f"| | PER | {' | '.join(columns)} |", "|---|---|" + "---:|" * len(columns)]
    for name, traffic in TRAFFIC.items():
        for per in pers:
            cells = [name, per]
            for text in columns.values():
                changed = text.replace("per = 0.01", f"per = {per}")
                changed = changed.replace(TRAFFIC["5 MB"], traffic)
                cells.append(f"{median(changed):.2f} s")
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def put(text: str, maker: str) -> None:
    """Put a table that a program makes into its place in docs/proxy.md."""
    begin, end = f"<!-- made by {maker} -->\n", f"<!-- end of {maker} -->"
    before, _, rest = PAGE.read_text().partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n{text}\n\n{end}{after}")


def answer(maker: str, columns: dict[str, str], pers: tuple[str, ...]) -> None:
    """Run all, and print or write the table."""
    parser = argparse.ArgumentParser(description="split proxies in the simulator")
    parser.add_argument("--write", action="store_true", help="write docs/proxy.md")
    arguments = parser.parse_args()
    text = table(columns, pers)
    print(text)
    if arguments.write:
        put(text, maker)


def main() -> None:
    """A column for each controller of the satellite leg."""
    written = SCENARIO.read_text()
    columns = {"not split": unsplit(written)}
    for name, controller in CONTROLLERS.items():
        columns[name] = written.replace('"hybla"', f'"{controller}"')
    answer("benches/split.py", columns, PERS)


if __name__ == "__main__":
    main()
