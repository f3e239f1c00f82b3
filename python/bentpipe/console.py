"""Output for the terminal: tables on stdout, progress on stderr."""

from __future__ import annotations

import difflib
import sys
import time
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from bentpipe.numbers import decimals, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.table import Column, Table

    from bentpipe._native import (
        ControllerEntry,
        KernelQuality,
        Mechanism,
        Recording,
        Transport,
    )

PROGRESS_AFTER_S = 1.0
PROGRESS_EVERY_S = 0.1
UNLIMITED = 1 << 20
"""A width that no table has."""
READABLE = 16
"""Columns of text are not made narrower than this if they would fit otherwise."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Hint with the nearest valid name, or with all valid names if none is near."""
    names = list(known)
    close = closest(name, names)
    return f"; did you mean {close!r}?" if close else f"; valid names: {', '.join(names)}"


def closest(name: str, known: Iterable[str]) -> str | None:
    """The nearest valid name, if any is near."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def command_as_given(*without: str) -> list[str]:
    """The words of the running command, except its parameters `without`, to repeat it."""
    import click
    from click.core import ParameterSource

    context = click.get_current_context()
    words = ["bentpipe", context.command.name or ""]
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not given or name in without:
            continue
        value = context.params[name]
        for one in value if parameter.multiple else [value]:
            option = [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
            words += option if value is True else [*option, str(one)]
    return words


def table(*columns: str) -> Table:
    """An empty table. Columns after the first are right-aligned unless they start with `<`."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        left = number == 0 or column.startswith("<")
        made.add_column(column.lstrip("<"), justify="left" if left else "right", overflow="fold")
    return made


def show(*renderables: Any) -> None:
    """Print to stdout, as wide as the terminal, or 200 columns if stdout is not a terminal.

    Texts are printed as they are: brackets are no markup.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else 200
    console = Console(width=width, highlight=False, markup=False)
    console.print(*(fitting(one, console) for one in renderables))


def fitting(renderable: Any, console: Console) -> Any:
    """The same, or the rows of a table below each other if it is wider than the terminal.

    No word or number is split: Rich would make columns narrower than their longest word, and drop
    columns. All values are shown at any width, so that narrow terminals lose nothing.
    """
    from rich.console import Group
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    if not isinstance(renderable, Table):
        return renderable
    natural = [widths_of(column) for column in renderable.columns]
    unlimited = console.options.update(max_width=UNLIMITED)
    width = Measurement.get(console, unlimited, renderable).maximum
    frame = width - sum(most for _, most in natural)
    chosen = chosen_widths(natural, console.width - frame)
    if chosen is not None:
        for column, content in zip(renderable.columns, chosen, strict=True):
            column.width = content
        return renderable
    names = [str(column.header) for column in renderable.columns]
    rows = zip(*(column.cells for column in renderable.columns), strict=True)
    return Group(
        *(
            Text(
                "\n".join(
                    f"{name}: {cell}" for name, cell in zip(names, row, strict=True) if str(cell)
                )
                + "\n"
            )
            for row in rows
        )
    )


def widths_of(column: Column) -> tuple[int, int]:
    """The smallest width of a column that splits no word, and the width of its longest cell.

    Numbers do not wrap, so that an interval stays on one line. Headings do.
    """
    from rich.cells import cell_len

    def longest(texts: Iterable[str]) -> int:
        return max(map(cell_len, texts), default=0)

    header, cells = str(column.header), [str(cell) for cell in column.cells]
    words = longest(header.split())
    whole = max(longest(line for cell in cells for line in cell.splitlines()), words)
    least = max(longest(word for cell in cells for word in cell.split()), words)
    if column.justify == "left":
        return max(least, min(whole, READABLE)), max(whole, cell_len(header))
    return whole, max(whole, cell_len(header))


def chosen_widths(natural: Sequence[tuple[int, int]], room: int) -> list[int] | None:
    """Widths of columns with this sum, widest columns narrowed first; None if there are none."""
    widths = [most for _, most in natural]
    if sum(least for least, _ in natural) > room:
        return None
    while sum(widths) > room:
        able = [n for n, (least, _) in enumerate(natural) if widths[n] > least]
        widest = max(able, key=lambda n: widths[n])
        widths[widest] -= 1
    return widths


def print_recording(recording: Recording) -> None:
    """Print tables of flows and links."""
    probing = any(flow.tcp and flow.tcp.probes_sent for flow in recording.flows)
    # The kernel reports a smoothed RTT and no samples.
    smoothed = recording.kernel is not None
    flows = table(
        "flow", "<controller", "data MB", "FCT s", "goodput Mbit/s", "segments sent",
        "retransmitted", *(["probes"] if probing else []), "timeouts",
        *(["srtt ms"] if smoothed else ["median RTT ms", "p95 RTT ms"]),
    )  # fmt: skip
    for flow in recording.flows:
        tcp = flow.tcp
        sent = tcp or flow.quic or flow.stp
        flows.add_row(
            flow.flow,
            flow.controller,
            decimals(flow.bytes / 1e6, 2),
            decimals(flow.completion_s, 2),
            decimals(flow.goodput_bps / 1e6, 4),
            decimals(sent and sent.segments_sent, 0),
            decimals(sent and sent.segments_retransmitted, 0),
            *([decimals(tcp and tcp.probes_sent, 0)] if probing else []),
            decimals(tcp and tcp.timeouts, 0),
            *(
                decimals(rtt, 1)
                for rtt in ([flow.srtt_ms] if smoothed else [flow.median_rtt_ms, flow.p95_rtt_ms])
            ),
        )
    links = table(
        "link", "<direction", "utilisation %", "delivered", "dropped", "corrupted",
        "p95 queueing delay ms", "max queue kB",
    )  # fmt: skip
    for link in recording.links:
        links.add_row(
            link.link,
            link.direction,
            percent(link.utilisation),
            decimals(link.delivered_packets, 0),
            decimals(link.dropped_packets, 0),
            decimals(link.corrupted_packets, 0),
            decimals(link.p95_queueing_delay_ms, 1),
            decimals(link.max_queue_bytes / 1e3, 1),
        )
    jain = "" if recording.jain_index is None else f", Jain index {recording.jain_index:.4f}"
    show(flows, links)
    print_on_path(recording)
    kernel = recording.kernel
    if kernel:
        print_settings(kernel)
        show(f"{recording.simulated_s:,.1f} s in real time, seed {recording.seed}{jain}")
        print_quality(kernel)
    else:
        show(
            f"{recording.simulated_s:,.1f} s simulated in {recording.wall_s:.3f} s, "
            f"{recording.events:,} events, seed {recording.seed}{jain}"
        )
    if recording.partial:
        show("Interrupted: this recording is partial.")


def print_on_path(recording: Recording) -> None:
    """Print what mechanisms on the path did. Only runs with any import data frames."""
    printers = {
        "aqm": print_aqm,
        "legs": print_legs,
        "middlebox": print_middleboxes,
        "arq": print_arq,
        "fec": print_fec,
        "acm": print_acm,
        "feedback": print_feedback,
        "demand": print_demand,
        "header_compression": print_header_compression,
        "mtu": print_mtu,
        "path_mtu": print_path_mtu,
    }
    for name, printer in printers.items():
        if name in recording.names:
            printer(recording)


def print_aqm(recording: Recording) -> None:
    """Print a table of what active queue management did."""
    listed = table(
        "link", "<direction", "<aqm", "dropped", "marked", "mean queue delay ms", "max ms"
    )
    for row in recording.table("aqm").iter_rows(named=True):
        listed.add_row(
            row["link"],
            row["direction"],
            row["aqm"],
            decimals(row["dropped_packets"], 0),
            decimals(row["marked_packets"], 0),
            decimals(row["mean_queue_delay_ms"], 2),
            decimals(row["max_queue_delay_ms"], 2),
        )
    show(listed)


def print_legs(recording: Recording) -> None:
    """Print a table of the legs of flows that gateways split."""
    listed = table(
        "flow",
        "<leg",
        "<controller",
        "bytes",
        "sent",
        "retransmitted",
        "timeouts",
        "RTT ms",
        "held",
    )
    for row in recording.table("legs").iter_rows(named=True):
        listed.add_row(
            row["flow"],
            f"{row['from']} -> {row['to']}",
            row["controller"],
            decimals(row["bytes"], 0),
            decimals(row["segments_sent"], 0),
            decimals(row["segments_retransmitted"], 0),
            decimals(row["timeouts"], 0),
            decimals(row["srtt_ms"], 1),
            decimals(row["held_bytes"] + row["discarded_bytes"], 0),
        )
    show(listed)


def print_middleboxes(recording: Recording) -> None:
    """Print a table of what middleboxes did."""
    listed = table("node", "<middlebox", "<counter", "packets")
    for row in recording.table("middlebox").iter_rows(named=True):
        listed.add_row(row["node"], row["middlebox"], row["counter"], decimals(row["packets"], 0))
    show(listed)


def print_arq(recording: Recording) -> None:
    """Print a table of what automatic repeat request did."""
    listed = table(
        "link", "<direction", "<arq", "frames", "repeats", "given up", "timeouts", "status", "held"
    )
    counts = (
        "frames",
        "repeated_frames",
        "given_up_packets",
        "timeouts",
        "status_frames",
        "held_packets",
    )
    for row in recording.table("arq").iter_rows(named=True):
        numbers = (decimals(row[name], 0) for name in counts)
        listed.add_row(row["link"], row["direction"], row["arq"], *numbers)
    show(listed)


def print_fec(recording: Recording) -> None:
    """Print a table of what forward error correction did."""
    listed = table("link", "<direction", "<fec", "data", "parity", "repaired", "lost", "held")
    counts = ("data_packets", "parity_packets", "repaired_packets", "lost_packets", "held_packets")
    for row in recording.table("fec").iter_rows(named=True):
        numbers = (decimals(row[name], 0) for name in counts)
        listed.add_row(row["link"], row["direction"], row["fec"], *numbers)
    show(listed)


def print_demand(recording: Recording) -> None:
    """Print a table of what demand assignment did."""
    listed = table(
        "link",
        "<direction",
        "<demand",
        "requests",
        "slots used",
        "unused",
        "mean delay ms",
        "max ms",
    )
    for row in recording.table("demand").iter_rows(named=True):
        used = row["cra_slots"] + row["vbdc_slots"] + row["fca_slots"]
        listed.add_row(
            row["link"],
            row["direction"],
            row["demand"],
            decimals(row["requests"], 0),
            decimals(used, 0),
            decimals(row["unused_slots"], 0),
            decimals(row["mean_access_delay_ms"], 1),
            decimals(row["max_access_delay_ms"], 1),
        )
    show(listed)


def print_acm(recording: Recording) -> None:
    """Print a table of what modems with adaptive coding and modulation sent."""
    listed = table("link", "<direction", "<modem", "mean Mbit/s", "min Mbit/s", "changes", "lost s")
    for row in recording.table("acm").iter_rows(named=True):
        rates = (decimals(row[name] / 1e6, 3) for name in ("mean_rate_bps", "min_rate_bps"))
        changes, lost = decimals(row["changes"], 0), decimals(row["lost_s"], 3)
        listed.add_row(row["link"], row["direction"], row["acm"], *rates, changes, lost)
    show(listed)


def print_feedback(recording: Recording) -> None:
    """Print a table of what routers with feedback did."""
    titles = ("treated", "lowered", "denied", "reports", "without the field")
    listed = table("link", "<direction", "<feedback", *titles)
    counts = ("treated_packets", "lowered_packets", "denied_packets", "reports", "other_packets")
    for row in recording.table("feedback").iter_rows(named=True):
        numbers = (decimals(row[name], 0) for name in counts)
        listed.add_row(row["link"], row["direction"], row["feedback"], *numbers)
    show(listed)


def print_header_compression(recording: Recording) -> None:
    """Print a table of what header compression saved and lost."""
    listed = table(
        "link",
        "<direction",
        "<scheme",
        "packets",
        "headers kB",
        "on the link kB",
        "undecodable",
        "refreshes",
        "feedback",
    )
    for row in recording.table("header_compression").iter_rows(named=True):
        sizes = (decimals(row[name] / 1e3, 1) for name in ("header_bytes", "sent_header_bytes"))
        counts = ("undecodable_packets", "refreshes", "feedback_packets")
        listed.add_row(
            row["link"],
            row["direction"],
            row["scheme"],
            decimals(row["packets"], 0),
            *sizes,
            *(decimals(row[name], 0) for name in counts),
        )
    show(listed)


def print_mtu(recording: Recording) -> None:
    """Print a table of what was too long for links, and of the messages about it."""
    listed = table("link", "<direction", "MTU B", "too long", "<ICMP", "messages")
    rows = recording.table("mtu").to_dicts()
    for row in rows:
        numbers = [decimals(row[name], 0) for name in ("mtu_bytes", "too_big_packets")]
        messages = decimals(row["icmp_packets"], 0)
        listed.add_row(row["link"], row["direction"], *numbers, row["icmp"], messages)
    show(listed)
    stalled = [flow.flow for flow in recording.flows if not (flow.completed or flow.bytes)]
    for row in rows:
        if stalled and row["icmp"] == "filtered" and row["too_big_packets"]:
            show(
                f"Black hole: {row['too_big_packets']:,} packets of more than "
                f"{row['mtu_bytes']:,} bytes vanished before {row['link']} {row['direction']}, "
                f"where ICMP is filtered. Nothing arrived for {', '.join(stalled)}."
            )


def print_path_mtu(recording: Recording) -> None:
    """Print a table of what path MTU discovery found."""
    listed = table(
        "flow",
        "leg",
        "MSS B",
        "ICMP",
        "ignored",
        "probes",
        "passed",
        "lost",
        "black holes",
        "cached",
    )
    counts = (
        "leg",
        "mss_bytes",
        "icmp_reductions",
        "icmp_ignored",
        "probes",
        "probe_successes",
        "probe_failures",
        "black_holes",
        "cache_hits",
    )
    for row in recording.table("path_mtu").iter_rows(named=True):
        listed.add_row(row["flow"], *(decimals(row[name], 0) for name in counts))
    show(listed)


def print_settings(kernel: KernelQuality) -> None:
    """Print the settings that the kernel approximates."""
    listed = table("flow", "<setting", "<scenario", "<applied by the kernel")
    for row in kernel.settings:
        if row.verdict == "reported":
            listed.add_row(row.flow, row.setting, row.asked, row.kernel)
    show(listed)


def print_quality(kernel: KernelQuality, file: IO[str] | None = None) -> None:
    """Print the accuracy of the emulation, and whether the run is valid."""
    rates = "".join(
        f"; {rate.link} {rate.direction}: {decimals(rate.achieved_bps / 1e6, 3)} of "
        f"{decimals(rate.configured_bps / 1e6, 3)} Mbit/s"
        for rate in kernel.rates
        if rate.achieved_bps is not None
    )
    verdict = (
        "valid"
        if kernel.valid
        else f"INVALID: expected a p99 of at most {kernel.tolerance_ms:g} ms and no lost packets"
    )
    print(
        f"Linux {kernel.release}, delay error of {kernel.timed_packets:,} packets: "
        f"p50 {kernel.delay_error_p50_ms:.3f} ms, p99 {kernel.delay_error_p99_ms:.3f} ms, "
        f"max {kernel.delay_error_max_ms:.3f} ms; {kernel.lost_packets:,} lost outside links"
        f"{rates}; {verdict}",
        file=file,
    )


def print_controllers(entries: Iterable[ControllerEntry]) -> None:
    """Print a table of controllers."""
    listed = table("controller", "<status", "<recovery", "<summary", "<source")
    for entry in entries:
        listed.add_row(entry.name, entry.status, entry.recovery, entry.summary, entry.source)
    show(listed)


def print_controller(entry: ControllerEntry) -> None:
    """Print the description and the parameters of one controller."""
    show(f"{entry.name}: {entry.summary}")
    read_in = f" ({entry.implementation})" if entry.implementation else ""
    show(f"source: {entry.source}\nstatus: {entry.status}{read_in}, recovery: {entry.recovery}")
    for each in entry.variants:
        show(f"variant {each.variant}: {each.summary} ({each.status}, {each.implementation})")
    if entry.parameters:
        listed = table("parameter", "<default", "<allowed", "<meaning")
        for row in entry.parameters:
            listed.add_row(row.name, row.default, row.allowed, row.meaning)
        show(listed)


def print_transports(entries: Iterable[Transport]) -> None:
    """Print a table of transport protocols."""
    listed = table("transport", "<status", "<backends", "<summary", "<source")
    for entry in entries:
        backends = ", ".join(entry.backends)
        listed.add_row(entry.name, entry.status, backends, entry.summary, entry.source)
    show(listed)


def print_transport(entry: Transport) -> None:
    """Print the description and the keys of one transport protocol."""
    show(f"{entry.name}: {entry.summary}")
    read_in = f" ({entry.implementation})" if entry.implementation else ""
    show(f"source: {entry.source}\nstatus: {entry.status}{read_in}")
    show(f"backends: {', '.join(entry.backends)}")
    listed = table("key of transport", "<default", "<allowed", "<meaning")
    for row in entry.parameters:
        listed.add_row(row.name, row.default, row.allowed, row.meaning)
    show(listed)


def print_mechanisms(entries: Iterable[Mechanism]) -> None:
    """Print a table of mechanisms on the path."""
    listed = table("mechanism", "<key", "<kind", "<status", "<summary", "<source")
    for entry in entries:
        listed.add_row(entry.name, entry.key, entry.kind, entry.status, entry.summary, entry.source)
    show(listed)


def print_mechanism(entry: Mechanism) -> None:
    """Print the description and the parameters of one mechanism."""
    show(entry.summary)
    show(f"kind: {entry.kind}, key: {entry.key}\nsource: {entry.source}\nstatus: {entry.status}")
    show(f"hurts: {entry.hurts}")
    listed = table("parameter", "<default", "<allowed", "<meaning")
    for row in entry.parameters:
        listed.add_row(row.name, row.default, row.allowed, row.meaning)
    show(listed)


@contextmanager
def late_progress(
    title: str, total: float, unit: str = ""
) -> Iterator[Callable[[float], None] | None]:
    """Yields a callback for the work done, out of `total`; None if stderr is not a terminal.

    With a `unit`, the bar also shows the work done and its rate. Work that ends within
    `PROGRESS_AFTER_S` draws and imports nothing.
    """
    if not sys.stderr.isatty():
        yield None
        return
    start = drawn = time.monotonic()
    bar: Any = None

    def update(done: float) -> None:
        nonlocal bar, drawn
        now = time.monotonic()
        if now - start < PROGRESS_AFTER_S or now - drawn < PROGRESS_EVERY_S:
            return
        drawn = now
        if bar is None:
            bar = progress_bar(title, total, unit)
            bar.start()
        bar.update(bar.task_ids[0], completed=done, refresh=True)

    try:
        yield update
    finally:
        if bar is not None:
            bar.stop()


def progress_bar(title: str, total: float, unit: str = "") -> Any:
    """A progress bar on stderr that is removed at the end."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{unit}, {task.speed:,.0f}/s" if task.speed else unit)

    counted = (MofNCompleteColumn(), Rate()) if unit else ()
    bar = Progress(
        *Progress.get_default_columns(),
        TimeElapsedColumn(),
        *counted,
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    bar.add_task(title, total=total)
    return bar
