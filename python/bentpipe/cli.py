"""The command line. Each command imports its modules when it runs, so that it starts quickly.

Exit status: 0 done, 1 a defect, 2 bad input or output that cannot be written, 130 interrupted by
Ctrl-C or SIGTERM (completed results are kept).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

import bentpipe
from bentpipe import _native, signals, stdout
from bentpipe.signals import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

COMPLETE = "_BENTPIPE_COMPLETE"
"""Environment variable with which the shells ask for completions."""
DEFECT = 1
BAD_INPUT = 2

FILE = click.Path(path_type=Path)
seed_option = click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=1,
    show_default=True,
    help="Seed of all random numbers.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


class Completed(click.ParamType[str]):
    """Option type of a text whose values shells complete; `what` is a name in `completion.VALUES`.

    The command checks the text.
    """

    name = "text"

    def __init__(self, what: str) -> None:
        self.what = what

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the values that begin with `incomplete`."""
        from bentpipe.completion import values

        return values(self.what, ctx, incomplete)


class Duration(click.ParamType[float]):
    """Option type of a time with its unit, in seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the time, or fail with the reason."""
        from bentpipe.durations import seconds

        try:
            return seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


sets_option = click.option(
    "--set",
    "sets",
    type=Completed("override"),
    multiple=True,
    metavar="PATH=VALUE",
    help="Set a value of the scenario.",
)


def refuse(message: str) -> NoReturn:
    """Reject bad input: message on stderr, exit status 2."""
    sys.exit(told(message, BAD_INPUT))


def told(message: str, status: int) -> int:
    """Print a message on stderr, and return the exit status."""
    click.echo(f"bentpipe: {message}", err=True)
    return status


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bentpipe.__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """A laboratory for TCP over satellite links."""


@cli.command()
@click.argument("file", type=FILE)
@click.option(
    "--backend",
    "--bed",
    "backend",
    type=click.Choice(["simulator", "kernel"]),
    default="simulator",
    show_default=True,
    help="Backend: the simulator, or the TCP of this machine's Linux kernel (as root).",
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of all random numbers.")
@sets_option
@click.option("--out", type=FILE, metavar="DIR", help="Save the recording in this folder.")
@click.option("--force", is_flag=True, help="Let --out write into a folder that has other files.")
@click.option("--pcap", is_flag=True, help="Also save the packets, as DIR/capture.pcapng.")
@json_option
def run(
    file: Path,
    backend: str,
    seed: int | None,
    sets: tuple[str, ...],
    out: Path | None,
    force: bool,
    pcap: bool,
    as_json: bool,
) -> None:
    """Run the scenario FILE and print the totals of its flows and links."""
    from bentpipe.console import late_progress

    if pcap and out is None:
        refuse("--pcap: expected an output folder for the capture; add --out DIR")
    scenario = bentpipe.Scenario.load(file, sets)
    folder = bentpipe.OutputFolder(out, force=force) if out else None
    try:
        with late_progress(scenario.name, 1.0) as progress:
            run_on = _native.run_on_kernel if backend == "kernel" else _native.run
            recording = run_on(
                scenario, seed=seed, progress=progress, capture=folder if pcap else None
            )
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
        from bentpipe.console import print_recording

        print_recording(recording)
    if recording.partial:
        sys.exit(INTERRUPTED)


@cli.command(context_settings={"ignore_unknown_options": True})
@click.argument("file", type=FILE)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--host",
    type=Completed("host"),
    metavar="NAME",
    help="Host to run it on; by default the end of flow 0.",
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

    Hosts are reached by their names in the scenario. The flows of the scenario do not run.
    """
    from bentpipe.console import print_quality

    scenario = bentpipe.Scenario.load(file, sets)
    signals.leave_termination()
    status, quality = bentpipe.shell(
        scenario,
        command or (os.environ.get("SHELL", "/bin/sh"),),
        host=host,
        servers=[(name, ("/bin/sh", "-c", line)) for name, line in servers],
        seed=seed,
    )
    print_quality(quality, file=sys.stderr)
    sys.exit(status)


@cli.command()
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
    """Show what FILE will run: every default, derived values, warnings."""
    explanation = bentpipe.Scenario.load(file, sets).explain()
    on_linux = explanation.on_linux if backend == "kernel" else []
    if as_json:
        import json
        from dataclasses import asdict

        linux = {"on_linux": [asdict(one) for one in on_linux]} if on_linux else {}
        click.echo(json.dumps(explanation.to_dict() | linux))
        return
    click.echo(explanation.text, nl=False)
    if on_linux:
        click.echo("\nControllers on Linux")
        width = max(len(one.controller) for one in on_linux)
        for one in on_linux:
            click.echo(f"  {one.controller:<{width}}  {one}")


@cli.command()
@click.argument("kind", type=click.Choice(["geo", "leo", "study", "controller"]))
@click.argument("file", type=FILE, required=False)
@click.option("--rate", metavar="RATE", help="geo, leo: rate to the client, such as 20Mbit/s.")
@click.option("--return-rate", metavar="RATE", help="geo, leo: rate from the client.")
@click.option(
    "--controller", type=Completed("controller"), help="geo, leo: the congestion controller."
)
@click.option(
    "--scenario", metavar="FILE", help="study: its scenario; written if it does not exist."
)
@click.option(
    "--controllers",
    metavar="A,B,...",
    type=Completed("controllers"),
    help="study: what to compare.",
)
@click.option("--class", "class_", metavar="NAME", help="controller: name of the class.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def new(kind: str, file: Path | None, force: bool, **answers: str | None) -> None:
    """Write a commented file to begin with: a scenario (geo, leo), a study or a controller.

    Asks for what no option gives. If stdin is not a terminal, the defaults are used. FILE is
    geo.toml, leo.toml, study.toml or mine.py by default.
    """
    from bentpipe.new import KINDS, write

    given = {name.rstrip("_").replace("_", "-"): value for name, value in answers.items()}
    found = {name: value for name, value in given.items() if value is not None}
    questions = KINDS[kind].questions
    for option in found.keys() - {question.option for question in questions}:
        takes = ", ".join(f"--{question.option}" for question in questions)
        refuse(f"--{option}: not used for {kind}, which takes {takes}")
    if sys.stdin is not None and sys.stdin.isatty():
        for question in questions:
            if question.option not in found:
                found[question.option] = click.prompt(question.text, default=question.default)
    written = write(kind, file, found, force=force)
    click.echo("\n".join(f"{path} written" for path in written.files))
    click.echo("\n".join(["next:", *(f"  {step}" for step in written.next_steps)]))


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default="examples")
def examples(folder: Path) -> None:
    """Copy the examples into FOLDER, by default examples."""
    from bentpipe.new import copy_examples

    for path in copy_examples(folder):
        click.echo(path)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes words in SHELL.

    bash: eval "$(bentpipe completion bash)" in ~/.bashrc. zsh: the same in ~/.zshrc, after
    compinit. fish: bentpipe completion fish > ~/.config/fish/completions/bentpipe.fish
    """
    from bentpipe.completion import script

    click.echo(script(cli, shell))


@cli.command()
@click.argument("kind", type=click.Choice(["scenario", "study"]), default="scenario")
def schema(kind: str) -> None:
    """Print the JSON Schema of scenario files, or of study files, for editors and validators."""
    import json

    from bentpipe import study

    text = bentpipe.schema() if kind == "scenario" else study.schema()
    click.echo(json.dumps(json.loads(text), indent=1, ensure_ascii=False))


@cli.command()
@click.argument("name", type=Completed("controller"), required=False)
@json_option
def controllers(name: str | None, as_json: bool) -> None:
    """List the congestion controllers, or describe the controller NAME."""
    from bentpipe.console import nearest, print_controller, print_controllers

    known = {entry.name: entry for entry in bentpipe.controllers()}
    if name is not None and name not in known:
        refuse(f"there is no controller {name!r}{nearest(name, known)}")
    if as_json:
        import json

        listed = [known[name]] if name else known.values()
        click.echo(json.dumps({"controllers": [entry.to_dict() for entry in listed]}))
    elif name:
        print_controller(known[name])
    else:
        print_controllers(known.values())


@cli.command()
@click.argument("file", type=FILE)
@click.option("--workers", type=click.IntRange(1), help="Threads; by default one per core.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run on the Dask cluster with this scheduler: tls://HOST:8786, or tcp:// in a network"
    " whose users you all trust. Whoever reaches a scheduler can run code there.",
)
@click.option(
    "--out", type=FILE, metavar="DIR", help="Keep rows and summary here, and continue here."
)
@json_option
def study(
    file: Path, workers: int | None, cluster: str | None, out: Path | None, as_json: bool
) -> None:
    """Run the study FILE: a scenario over parameters and seeds, with statistics.

    With --out, an interrupted study continues where it stopped.
    """
    from bentpipe.study.command import run_and_print

    if workers is not None and cluster is not None:
        refuse("--workers: threads of this machine, not used with --cluster; leave one out")
    complete = run_and_print(file, workers, cluster, out, as_json)
    if not complete:
        sys.exit(INTERRUPTED)


@cli.command()
@click.option(
    "--link", "link_name", type=Completed("link"), metavar="NAME", help="A built-in link."
)
@click.option("--scenario", type=FILE, help="Use the links of a scenario file instead.")
@click.option("--rate", metavar="RATE", help="Data rate of the satellite link, such as 20Mbit/s.")
@click.option("--rtt", metavar="TIME", help="Round-trip time without queues, such as 600ms.")
@click.option("--per", type=click.FloatRange(0, 1), help="Packet error rate in the data direction.")
@click.option(
    "--queue", metavar="LENGTH", help="Queue of the satellite link: 100 (packets), 650kB or 0.5bdp."
)
@sets_option
@click.option(
    "--controllers",
    type=Completed("controllers"),
    metavar="A,B,...",
    help="Compare only these: names, with parameters as hybla:rtt0=0.05, classes as mine.py:Mine.",
)
@click.option(
    "--replications", type=click.IntRange(1), default=20, show_default=True, help="Number of seeds."
)
@click.option("--workers", type=click.IntRange(1), help="Threads; by default one per core.")
@click.option("--out", type=FILE, metavar="DIR", help="Keep the studies here, and continue here.")
@json_option
def compare(
    link_name: str | None,
    scenario: Path | None,
    rate: str | None,
    rtt: str | None,
    per: float | None,
    queue: str | None,
    sets: tuple[str, ...],
    controllers: str | None,
    replications: int,
    workers: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Rank the controllers on a link.

    There are four workloads: a bulk flow, web pages, competing with NewReno, a rain fade.
    """
    from bentpipe.compare.command import run_and_print, the_link
    from bentpipe.console import command_as_given
    from bentpipe.prototypes.spec import listed

    link = the_link(link_name, scenario, rate, rtt, per, queue, sets)
    names = listed(controllers) if controllers else None
    command = command_as_given("workers", "out", "as_json")
    if not run_and_print(link, names, replications, workers, out, as_json, command):
        sys.exit(INTERRUPTED)


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
@click.option("--quick", is_flag=True, help="Use 3 seeds instead of 20, for a first look.")
@click.option("--workers", type=click.IntRange(1), help="Threads; by default one per core.")
@click.option("--out", type=FILE, metavar="DIR", help="Keep the studies here, and continue here.")
@json_option
def evaluate(
    controller: str,
    against: str,
    items: str | None,
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
    if not run_and_print(controller, against, items, quick, workers, out, as_json, command):
        sys.exit(INTERRUPTED)


@cli.group()
def papers() -> None:
    """Reproduce published experiments, and compare published with measured values."""


@papers.command("list")
@json_option
def list_papers(as_json: bool) -> None:
    """List the papers that can be reproduced."""
    from bentpipe.reproductions.command import print_list

    print_list(as_json)


@papers.command("run")
@click.argument("names", type=Completed("paper"), nargs=-1, metavar="[NAME]...")
@click.option("--workers", type=click.IntRange(1), help="Threads; by default one per core.")
@click.option("--out", type=FILE, metavar="DIR", help="Write tables and plots to this folder.")
@json_option
def run_papers(
    names: tuple[str, ...], workers: int | None, out: Path | None, as_json: bool
) -> None:
    """Reproduce the papers NAME... (by default all) and compare each published value."""
    from bentpipe.reproductions.command import run_and_print

    complete = run_and_print(names, workers, out, as_json)
    if not complete:
        sys.exit(INTERRUPTED)


@papers.command("explain")
@click.argument("statement", metavar="ID")
@click.option("--results", type=FILE, metavar="DIR", help="A folder of `papers run --out`.")
@json_option
def explain_paper(statement: str, results: Path | None, as_json: bool) -> None:
    """Explain one statement of a paper: source, reading, what else was tried, runs, figure.

    ID is the id of a statement or of a row, such as ftp/rtt/baseline/250-ms, or PAPER:ID.
    With --results also what those runs measured.
    """
    from bentpipe.reproductions.explaining import explain_and_print

    explain_and_print(statement, results, as_json)


@cli.command()
@click.argument("folder", type=FILE, metavar="DIR")
@click.option("--out", type=FILE, metavar="FILE.html", help="The page; by default DIR/report.html.")
@click.option("--figures", type=FILE, metavar="DIR", help="Write the figures as SVG, PDF and PNG.")
def report(folder: Path, out: Path | None, figures: Path | None) -> None:
    """Write one HTML page about DIR, the --out folder of another command."""
    from bentpipe.report.command import write_report

    write_report(folder, out, figures)


SITE_OPTIONS = {
    "latitude-deg": "Latitude of the station, north positive.",
    "longitude-deg": "Longitude of the station; only with --maps.",
    "altitude-km": "Altitude of the station above the sea.",
    "elevation-deg": "Elevation of the satellite.",
    "frequency-ghz": "Frequency of the carrier.",
    "tilt-deg": "Tilt of the polarisation to the horizontal; 45 for circular.",
    "rain-rate-mmh": "Rain rate exceeded 0.01 % of the year.",
    "rain-height-km": "Rain height above the sea; by default from the latitude (P.839-2).",
    "rain-percent": "Share of the time in which it rains.",
}


def site_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a site, which the command gets by their names as `site`."""
    maps = click.option(
        "--maps", is_flag=True, help="Read the rain statistics from the maps of the ITU-R."
    )
    command = maps(command)
    for name, text in reversed(SITE_OPTIONS.items()):
        command = click.option(f"--{name}", type=float, metavar="NUMBER", help=text)(command)
    return command


def series_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that all series of attenuation have in common."""
    for option in (
        site_options,
        json_option,
        click.option("--out", type=FILE, required=True, help="File to write, .csv or .parquet."),
        seed_option,
        click.option(
            "--step", type=Duration(), default="1s", show_default=True, help="Time between samples."
        ),
        click.option(
            "--duration",
            type=Duration(),
            required=True,
            help="Time from the first to the last sample.",
        ),
        click.option(
            "--method",
            type=click.Choice(["dirac", "p1853"]),
            default="dirac",
            show_default=True,
            help="Dirac and lognormal (dirac), or ITU-R P.1853-1.",
        ),
    ):
        command = option(command)
    return command


@cli.group()
def rain() -> None:
    """Rain attenuation of a site: statistics, and time series for the channel of a link.

    The default site is Spino d'Adda in the Po valley: 45.4 degrees north, 19.77 GHz, 31 degrees of
    elevation. Options change it. If you change the latitude, also give the altitude, the rain rate
    and the share of rainy time.
    """


@rain.command("statistics")
@site_options
@json_option
def rain_statistics(as_json: bool, **site: Any) -> None:
    """Print the attenuation exceeded for a share of the year, by P.618 and by the series."""
    from bentpipe.rain.command import print_statistics

    print_statistics(site, as_json)


@rain.command("series")
@series_options
def rain_series(
    method: str, duration: float, step: float, seed: int, out: Path, as_json: bool, **site: Any
) -> None:
    """Write a stationary series. Most hours of it are dry."""
    from bentpipe.rain.command import write_series

    write_series(site, method, duration, step, seed, out, as_json)


@rain.command("event")
@click.option("--peak", type=float, required=True, metavar="DB", help="Maximum attenuation in dB.")
@click.option("--peak-at", type=Duration(), help="Time of the maximum; by default the middle.")
@series_options
def rain_event(
    peak: float,
    peak_at: float | None,
    method: str,
    duration: float,
    step: float,
    seed: int,
    out: Path,
    as_json: bool,
    **site: Any,
) -> None:
    """Write one rain event with a given peak and duration."""
    from bentpipe.rain.command import write_event

    write_event(site, peak, peak_at, method, duration, step, seed, out, as_json)


@cli.command()
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


@cli.group()
def kernel() -> None:
    """Congestion controllers in the running Linux kernel. See docs/deploy.md.

    Each controller is an eBPF program. It stays loaded until you unload it or the machine restarts.
    A socket chooses it by its name, bp_NAME. Nothing else changes without --default.
    """


kernel_sets = click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set a parameter."
)


@kernel.command("list")
@json_option
def list_kernel(as_json: bool) -> None:
    """List the controllers that can be loaded."""
    from bentpipe.deploy import print_list

    print_list(as_json)


@kernel.command("load")
@click.argument("name", type=Completed("kernel controller"))
@kernel_sets
@click.option("--default", is_flag=True, help="Make it the default of new sockets.")
@click.option(
    "--namespace", metavar="NAME", help="With --default: network namespace, as in `ip netns`."
)
def load_kernel(name: str, sets: tuple[str, ...], default: bool, namespace: str | None) -> None:
    """Load the controller NAME."""
    if namespace is not None and not default:
        refuse("--namespace: only used with --default; add --default")
    folder = bentpipe.kernel_load(name, sets, default=default, namespace=namespace)
    click.echo(f"bp_{Path(folder).name} is loaded, pinned in {folder}")


@kernel.command("set")
@click.argument("name", type=Completed("kernel controller"))
@click.argument("sets", nargs=-1, required=True, metavar="NAME=VALUE...")
def set_kernel(name: str, sets: tuple[str, ...]) -> None:
    """Change parameters of the loaded controller NAME, also for open connections."""
    for row in bentpipe.kernel_set(name, sets):
        click.echo(f"{row.name} = {row.value}")


@kernel.command("unload")
@click.argument("name", type=Completed("kernel controller"))
def unload_kernel(name: str) -> None:
    """Unload the controller NAME. Connections that use it keep it until they end."""
    sockets = bentpipe.kernel_unload(name)
    click.echo(f"{name} is unloaded; {sockets} connections keep it until they end")


@kernel.command("status")
@json_option
def status_kernel(as_json: bool) -> None:
    """Show the loaded controllers, with parameters and the number of connections."""
    from bentpipe.deploy import print_status

    print_status(as_json)


def echo_errors(error: bentpipe.BentpipeError) -> None:
    """Print the errors as one JSON object, for programs that asked for JSON."""
    import json
    from dataclasses import asdict

    found = error.errors if isinstance(error, bentpipe.InputError) else ()
    errors = [asdict(problem) for problem in found] or [{"message": str(error)}]
    click.echo(json.dumps({"errors": errors}))


def warn_once() -> None:
    """Show warnings of renamed keys as messages of this command: each key of each file once."""
    import warnings

    usual = warnings.showwarning
    seen = set()

    def show(message: Warning | str, *about: Any, **more: Any) -> None:
        if not isinstance(message, bentpipe.RenamedKeyWarning):
            usual(message, *about, **more)
            return
        place = (message.old, message.new, message.file, message.line)
        if place not in seen:
            seen.add(place)
            click.echo(f"bentpipe: warning: {message}", err=True)

    warnings.showwarning = show
    warnings.simplefilter("always", bentpipe.RenamedKeyWarning)


def run_command() -> int:
    """Run the command line. Errors become one line and an exit status."""
    if COMPLETE in os.environ:
        from bentpipe.completion import answer

        return answer(cli, os.environ[COMPLETE])
    try:
        signals.interrupt()
        with cli.make_context("bentpipe", sys.argv[1:]) as context:
            cli.invoke(context)
    except bentpipe.BentpipeError as error:
        if "--json" in sys.argv:
            echo_errors(error)
        return told(str(error), BAD_INPUT)
    except bentpipe.EngineError as error:
        return told(str(error), DEFECT)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        signals.end_at_once()
        return told("interrupted", INTERRUPTED)
    return 0


def main() -> None:
    """Run the command line and end the process. Output that cannot be written is bad input too."""
    warn_once()
    if sys.stdout is None:
        refuse(stdout.CLOSED)
    stdout.guard()
    try:
        try:
            status: str | int | None = run_command()
        except SystemExit as end:
            status = end.code
        signals.end_at_once()
        sys.stdout.flush()
    except stdout.StdoutError as error:
        stdout.discard()
        status = told(f"cannot write to stdout: {error}{stdout.told_saved()}", BAD_INPUT)
    sys.exit(status)


if __name__ == "__main__":
    main()
