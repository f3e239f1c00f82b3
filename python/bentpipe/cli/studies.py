"""Commands of many runs: `study`, `compare`, `evaluate`, and `fidelity` for both backends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from bentpipe.cli.groups import WithSet
from bentpipe.cli.root import FILE, Completed, cli, json_option, refuse, sets_option, verbose_option
from bentpipe.signals import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bentpipe._native import Scenario

Command = TypeVar("Command", bound="Callable[..., Any]")
"""A command, or one with options already."""


def phase_option(moved: str) -> Callable[[Command], Command]:
    """The option `--phase`, about these times."""
    return click.option(
        "--phase",
        type=click.Choice(["random", "fixed"]),
        help=f"{moved}. random (the default): delayed by a random time that depends on the seed."
        " fixed: as written, in every run.",
    )


@cli.command()
@click.argument("file", type=FILE)
@click.option("--workers", type=click.IntRange(1), help="Threads; by default one per core.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run on the Dask cluster with this scheduler: tls://HOST:8786, or tcp:// in a network"
    " where you trust all users. Anyone who can connect to a scheduler can run code there.",
)
@click.option(
    "--out", type=FILE, metavar="DIR", help="Keep rows and summary here, and continue here."
)
@verbose_option
@json_option
def study(
    file: Path,
    workers: int | None,
    cluster: str | None,
    out: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Run the study FILE: a scenario over parameters and seeds, with statistics.

    With --out, an interrupted study continues where it stopped.
    """
    from bentpipe.study.command import run_and_print

    if workers is not None and cluster is not None:
        refuse("--workers: threads of this machine, not used with --cluster; leave one out")
    complete = run_and_print(file, workers, cluster, out, as_json, verbose)
    if not complete:
        sys.exit(INTERRUPTED)


@cli.command(cls=WithSet)
@click.option(
    "--link", "link_name", type=Completed("link"), metavar="NAME", help="A built-in link."
)
@click.option("--scenario", type=FILE, help="Use the links of a scenario file instead.")
@click.option("--rate", metavar="RATE", help="Data rate of the satellite link, such as 20Mbit/s.")
@click.option("--rtt", metavar="TIME", help="Round-trip time without queues, such as 600ms.")
@click.option("--per", type=click.FloatRange(0, 1), help="Packet error rate in the data direction.")
@click.option(
    "--queue",
    metavar="LENGTH,...",
    help="Queue before the bottleneck: 100 (packets), 650kB or 0.5bdp. With several, such as"
    " 0.1bdp,0.5bdp,1bdp, the command recommends a controller and a queue.",
)
@click.option(
    "--host",
    "hosts",
    type=Completed("host profile"),
    metavar="NAME",
    help="Profile of both hosts, or SERVER,CLIENT; `bentpipe hosts` lists them. By default"
    " linux-6.18,linux-6.12. With fixed, buffers do not tune themselves and are large.",
)
@click.option(
    "--on-path",
    type=Completed("mechanisms"),
    metavar="A,B,...",
    help="Also run every controller over each of these mechanisms, such as codel,pie or"
    " codel:target=30ms. The default controllers are then newreno, cubic, bbr and hybla.",
)
@click.option(
    "--transports",
    type=Completed("transports"),
    metavar="A,B,...",
    help="Also run every controller over each of these transports, such as quic,scps-tp or"
    " quic:initial_rtt=600ms. The default controllers are then newreno, cubic, bbr and hybla.",
)
@sets_option
@click.option(
    "--controllers",
    type=Completed("controllers"),
    metavar="A,B,...",
    help="Compare only these controllers: names, names with parameters such as hybla:rtt0=0.05, or"
    " Python classes such as mine.py:Mine.",
)
@click.option(
    "--workload",
    type=Completed("workloads"),
    metavar="A,B,...",
    help="Run only these workloads: bulk, page, web, video, call, speedtest, beside-newreno or"
    " fade.",
)
@click.option(
    "--group",
    metavar="NAME",
    help="With a --scenario that has a beam: the group of terminals whose controllers are compared."
    " The flows are those of the scenario.",
)
@phase_option("Times of the events of links and switches, and of the start of a run in an orbit")
@click.option(
    "--replications", type=click.IntRange(1), default=20, show_default=True, help="Number of seeds."
)
@click.option("--workers", type=click.IntRange(1), help="Threads; by default one per core.")
@click.option("--out", type=FILE, metavar="DIR", help="Keep the studies here, and continue here.")
@verbose_option
@json_option
def compare(
    link_name: str | None,
    scenario: Path | None,
    rate: str | None,
    rtt: str | None,
    per: float | None,
    queue: str | None,
    hosts: str | None,
    on_path: str | None,
    transports: str | None,
    sets: tuple[str, ...],
    controllers: str | None,
    workload: str | None,
    group: str | None,
    phase: str | None,
    replications: int,
    workers: int | None,
    out: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Rank the controllers on a link.

    By default there are four workloads: a bulk flow, web pages, competing with NewReno, a rain
    fade. --workload chooses others, such as page,video,call,speedtest. With several lengths of
    --queue, a bulk flow of each controller runs over each queue. With --on-path and --transports,
    controllers, mechanisms and transports are ranked together. Over a beam, the flows of a
    group are compared as the scenario has them.
    """
    from bentpipe.compare import mechanisms
    from bentpipe.compare import transports as of_transports
    from bentpipe.compare.command import run_and_print
    from bentpipe.compare.comparison import the_link
    from bentpipe.console import command_as_given
    from bentpipe.prototypes.spec import items, listed

    names = None if controllers is None else listed("--controllers", controllers)
    beam = None if scenario is None else with_beam(scenario, sets)
    if beam is not None:
        from bentpipe.beams.printing import compare_and_print

        refuse_over_a_beam(click.get_current_context())
        command = command_as_given("workers", "out", "as_json")
        compare_and_print(beam, group, names, replications, workers, out, as_json, on_path, command)
        return
    if group is not None:
        refuse("--group: expected a --scenario with a [[beam]]")
    link = the_link(link_name, scenario, rate, rtt, per, queue, hosts, sets, phase)
    queues = link.buffers(queue) if queue is not None and "," in queue else []
    if queues and on_path is not None:
        refuse("--on-path: expected one length of --queue, found several")
    if queues and transports is not None:
        refuse("--transports: expected one length of --queue, found several")
    over = [] if transports is None else of_transports.chosen(transports, link)
    beneath = over[0].link if over else link
    chosen = [] if on_path is None else mechanisms.chosen(on_path, beneath)
    command = command_as_given("workers", "out", "verbose", "as_json")
    if not run_and_print(
        link,
        names,
        replications,
        workers,
        out,
        as_json,
        command,
        queues,
        chosen,
        over,
        verbose,
        None if workload is None else items("--workload", workload),
    ):
        sys.exit(INTERRUPTED)


OVER_A_BEAM = (
    "scenario",
    "sets",
    "controllers",
    "group",
    "on_path",
    "replications",
    "workers",
    "out",
    "as_json",
)
"""Options of `compare` that have an effect over a beam."""


def with_beam(file: Path, sets: tuple[str, ...]) -> Scenario | None:
    """The scenario of a file if it has a beam."""
    from bentpipe import _native

    found = _native.Scenario.load(file, sets)
    return found if "beam" in found.values() else None


def refuse_over_a_beam(context: click.Context) -> None:
    """Refuse options that have no effect over a beam."""
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in OVER_A_BEAM:
            refuse(f"{parameter.opts[0]}: no effect over a beam, whose flows are those of FILE")


@cli.command()
@click.argument("controller", type=Completed("controller"))
@click.option(
    "--against",
    type=Completed("controllers"),
    default="cubic,newreno",
    show_default=True,
    metavar="A,B,...",
    help="Baselines to compare with.",
)
@click.option("--items", metavar="A,B,...", help="Run only these items of the checklist.")
@click.option(
    "--workload",
    metavar="A,B,...",
    help="Run these workloads of people over a GEO path: page, video, call or speedtest. Without"
    " --items, the checklist is left out.",
)
@phase_option("Times of the events of links")
@click.option("--quick", is_flag=True, help="Use 3 seeds instead of 20, for a first look.")
@click.option("--workers", type=click.IntRange(1), help="Threads; by default one per core.")
@click.option("--out", type=FILE, metavar="DIR", help="Keep the studies here, and continue here.")
@json_option
def evaluate(
    controller: str,
    against: str,
    items: str | None,
    workload: str | None,
    phase: str | None,
    quick: bool,
    workers: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Evaluate CONTROLLER by the checklist of RFC 9743 (BCP 133), compared with baselines.

    CONTROLLER is a name, a name with parameters such as hybla:rtt0=0.05, or a class in Python such
    as mine.py:Mine.
    """
    from bentpipe.console import command_as_given
    from bentpipe.evaluate.command import run_and_print

    command = command_as_given("workers", "out", "as_json")
    if not run_and_print(
        controller,
        against,
        items,
        workload,
        phase or "random",
        quick,
        workers,
        out,
        as_json,
        command,
    ):
        sys.exit(INTERRUPTED)


@cli.command(cls=WithSet)
@click.argument("file", type=FILE)
@sets_option
@click.option(
    "--alone",
    is_flag=True,
    help="Add the applications without the scenario's own flows.",
)
@click.option(
    "--replications", type=click.IntRange(1), default=10, show_default=True, help="Number of seeds."
)
@click.option("--workers", type=click.IntRange(1), help="Threads; by default one per core.")
@click.option("--out", type=FILE, metavar="DIR", help="Keep the study here, and continue here.")
@json_option
def experience(
    file: Path,
    sets: tuple[str, ...],
    alone: bool,
    replications: int,
    workers: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print what people experience on the scenario FILE, and what limits it.

    The figures of pages, videos, calls, messages and speed tests have intervals over the seeds, and
    verdicts where a target is published. A FILE without such applications gets a page, a video, a
    call and a speed test between the end points of its first flow, one after the other.
    """
    from bentpipe.console import command_as_given
    from bentpipe.experience.command import run_and_print

    command = command_as_given("workers", "out", "as_json")
    if not run_and_print(file, sets, alone, replications, workers, out, as_json, command):
        sys.exit(INTERRUPTED)


@cli.command(cls=WithSet)
@click.argument("file", type=FILE)
@sets_option
@click.option(
    "--vary",
    "varied",
    type=Completed("override"),
    multiple=True,
    metavar="PATH=VALUES",
    help='Compare these values, "a,b" or a TOML array. Several --vary give all combinations.',
)
@click.option(
    "--also",
    type=Completed("override"),
    multiple=True,
    metavar="PATH=VALUE",
    help="Also compare the simulator with these settings.",
)
@click.option(
    "--seeds", type=click.IntRange(1), default=5, show_default=True, help="Number of seeds."
)
@click.option(
    "--parallel",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of kernel runs at the same time.",
)
@click.option(
    "--flow",
    type=click.IntRange(0),
    metavar="NUMBER",
    help="Compare this flow only, counted from 0. Default: the goodput of all together.",
)
@click.option(
    "--kernel-runs",
    type=FILE,
    metavar="DIR",
    help="Keep the kernel runs here; runs that are there are not repeated.",
)
@click.option(
    "--out", type=FILE, metavar="DIR", help="Save the table, the numbers and the curves here."
)
@json_option
def fidelity(
    file: Path,
    sets: tuple[str, ...],
    varied: tuple[str, ...],
    also: tuple[str, ...],
    seeds: int,
    parallel: int,
    flow: int | None,
    kernel_runs: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the scenario FILE on both backends and compare the simulator with the kernel."""
    from bentpipe.fidelity.command import run_and_print

    run_and_print(file, sets, varied, also, seeds, parallel, flow, kernel_runs, out, as_json)
