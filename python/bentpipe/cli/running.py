"""Commands that run or explain one scenario: `run`, `lockstep`, `shell`, `explain`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

import bentpipe
from bentpipe import _native, signals, stdout
from bentpipe.cli.groups import WithSet
from bentpipe.cli.root import (
    FILE,
    Completed,
    backend_option,
    cli,
    json_option,
    refuse,
    sets_option,
)
from bentpipe.signals import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bentpipe.prototypes import Maker


@cli.command(cls=WithSet)
@click.argument("file", type=FILE)
@backend_option
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of all random numbers.")
@sets_option
@click.option(
    "--controller",
    type=Completed("controller"),
    help="Controller of all flows: a name, a name with parameters such as hybla:rtt0=0.05, or a"
    " Python class such as mine.py:Mine.",
)
@click.option("--out", type=FILE, metavar="DIR", help="Save the recording in this folder.")
@click.option("--force", is_flag=True, help="Let --out write into a folder that has other files.")
@click.option("--pcap", is_flag=True, help="Also save the packets, as DIR/capture.pcapng.")
@click.option(
    "--keylog",
    is_flag=True,
    help="Also save the TLS secrets of QUIC, with which Wireshark decrypts the packets, as"
    " DIR/tls-keys.log.",
)
@click.option(
    "--qlog", is_flag=True, help="Also save the events of QUIC connections, as DIR/qlog-*.sqlog."
)
@json_option
def run(
    file: Path,
    backend: str,
    seed: int | None,
    sets: tuple[str, ...],
    controller: str | None,
    out: Path | None,
    force: bool,
    pcap: bool,
    keylog: bool,
    qlog: bool,
    as_json: bool,
) -> None:
    """Run the scenario FILE and print the totals of its flows and links."""
    from bentpipe.console import late_progress

    files = chosen_files(out, capture=pcap, keylog=keylog, qlog=qlog)
    scenario, classes = loaded(file, sets, controller, backend)
    folder = bentpipe.OutputFolder(out, force=force) if out else None
    try:
        with late_progress(scenario.name, 1.0) as progress:
            saved = dict.fromkeys(files, folder)
            recording = run_on(backend, scenario, seed, classes, progress, saved)
    except bentpipe.Interrupted as interrupted:
        (stopped,) = interrupted.recordings
        if stopped is None:
            raise
        recording = stopped
    except bentpipe.OutputError as error:
        if error.recording is None:
            raise
        refuse(f"{error}{stdout.save_elsewhere(error.recording, scenario)}")
    if folder:
        try:
            folder.save(recording, scenario)
        except bentpipe.OutputError as error:
            refuse(f"{error}{stdout.save_elsewhere(recording, scenario)}")
    stdout.about_to_print(f"{scenario.name}-seed-{recording.seed}", recording.to_json, out)
    if as_json:
        click.echo(recording.to_json())
    else:
        from bentpipe.printing.recording import print_recording

        print_recording(recording)
    if recording.partial:
        sys.exit(INTERRUPTED)


def chosen_files(out: Path | None, **chosen: bool) -> list[str]:
    """Those that are to be saved during the run, for which a folder is needed."""
    options = {"capture": "--pcap", "keylog": "--keylog", "qlog": "--qlog"}
    files = [name for name, is_chosen in chosen.items() if is_chosen]
    if files and out is None:
        name = files[0]
        refuse(f"{options[name]}: expected an output folder for the {name}; add --out DIR")
    return files


def run_on(
    backend: str,
    scenario: bentpipe.Scenario,
    seed: int | None,
    classes: dict[str, Maker],
    progress: Callable[[float], None] | None,
    saved: Mapping[str, Any],
) -> bentpipe.Recording:
    """Run the scenario on a backend, with what is `saved` during the run."""
    if classes:
        from bentpipe.prototypes import flows

        chosen = scenario.seed if seed is None else seed
        named = {"progress": progress, "controllers": classes, **saved}
        return flows.run(_native.run, chosen, scenario, **named)
    on_backend = _native.run_on_kernel if backend == "kernel" else _native.run
    return on_backend(scenario, seed=seed, progress=progress, **saved)


def loaded(
    file: Path, sets: tuple[str, ...], controller: str | None, backend: str
) -> tuple[bentpipe.Scenario, dict[str, Maker]]:
    """The scenario, and the controllers in Python of its flows."""
    if controller is None and not any(":" in one and "controller" in one for one in sets):
        return bentpipe.Scenario.load(file, sets), {}
    from bentpipe.prototypes import flows

    scenario, classes = flows.load(file, sets, controller)
    if classes and backend == "kernel":
        refuse("--backend kernel: controllers in Python run in the simulator only")
    return scenario, classes


@cli.command(cls=WithSet)
@click.argument("file", type=FILE)
@click.argument("registered", type=Completed("controller"))
@click.argument("prototype", type=Completed("controller"))
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of all random numbers.")
@sets_option
@json_option
def lockstep(
    file: Path,
    registered: str,
    prototype: str,
    seed: int | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare a controller with its prototype in Python, step by step, in the scenario FILE.

    REGISTERED is a name or a name with parameters, PROTOTYPE a class such as mine.py:Mine. Both get
    the same events. The command ends at the first step after which they differ, and shows both.
    """
    from bentpipe.steps import run_and_print

    run_and_print(bentpipe.Scenario.load(file, sets), registered, prototype, seed, as_json)


@cli.command(cls=WithSet, context_settings={"ignore_unknown_options": True})
@click.argument("file", type=FILE)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--host",
    type=Completed("host"),
    metavar="NAME",
    help="Host that runs COMMAND; by default the receiver of flow 0.",
)
@click.option(
    "--serve",
    "servers",
    nargs=2,
    multiple=True,
    metavar="HOST COMMAND",
    help="Also run a shell command on another host, until COMMAND ends.",
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of all random numbers.")
@sets_option
def shell(
    file: Path,
    command: tuple[str, ...],
    host: str | None,
    servers: tuple[tuple[str, str], ...],
    seed: int | None,
    sets: tuple[str, ...],
) -> None:
    """Run COMMAND (your shell by default) across the links of FILE, on this machine's kernel.

    Programs reach hosts by their names in the scenario. The flows of the scenario do not run. Hosts
    have their sysctls and their congestion control; notes name what programs do not get.
    """
    from bentpipe.printing.recording import print_quality

    scenario = bentpipe.Scenario.load(file, sets)
    signals.leave_termination()
    for line in bentpipe.unset_for_programs(scenario):
        click.echo(f"note: {line}", err=True)
    status, quality = bentpipe.shell(
        scenario,
        command or (os.environ.get("SHELL", "/bin/sh"),),
        host=host,
        servers=[(name, ("/bin/sh", "-c", line)) for name, line in servers],
        seed=seed,
    )
    print_quality(quality, file=sys.stderr)
    sys.exit(status)


@cli.command(cls=WithSet)
@click.argument("file", type=FILE)
@click.option(
    "--backend",
    type=click.Choice(["simulator", "kernel"]),
    default="simulator",
    show_default=True,
    help="Backend of the run. For the kernel, also the relation of controllers to Linux's own.",
)
@sets_option
@json_option
def explain(file: Path, backend: str, sets: tuple[str, ...], as_json: bool) -> None:
    """Show the scenario FILE with every default, derived values and warnings."""
    scenario = bentpipe.Scenario.load(file, sets)
    explanation = scenario.explain()
    on_linux = explanation.on_linux if backend == "kernel" else []
    settings, refused = bentpipe.kernel_settings(scenario) if backend == "kernel" else ([], [])
    if as_json:
        import json
        from dataclasses import asdict

        linux = {
            "on_linux": [asdict(one) for one in on_linux],
            "kernel_settings": [one.to_dict() for one in settings],
            "kernel_rejects": refused,
        }
        click.echo(json.dumps(explanation.to_dict() | (linux if backend == "kernel" else {})))
        return
    from bentpipe.console import stdout_width
    from bentpipe.printing.explanation import continued, within

    columns = stdout_width()
    click.echo(within(explanation, columns))
    if on_linux:
        click.echo("\nControllers on Linux")
        width = max(len(one.controller) for one in on_linux)
        for one in on_linux:
            click.echo("\n".join(continued(f"  {one.controller:<{width}}  {one}", columns)))
    if settings:
        from bentpipe.printing.recording import print_applied

        click.echo("\nSettings on this machine's kernel")
        print_applied(settings)
    if refused:
        click.echo("\nRejected by the kernel backend")
        for sentence in refused:
            click.echo("\n".join(continued(f"  {sentence}", columns)))
