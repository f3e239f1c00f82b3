"""Commands for a start: `new`, `wheel`, `examples`, `completion` and `schema`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

import bentpipe
from bentpipe.cli.root import FILE, Completed, cli, refuse
from bentpipe.cli.templates import New
from bentpipe.templates import KINDS

if TYPE_CHECKING:
    from bentpipe.new import Written


@cli.command(cls=New)
@click.argument("kind", metavar="TEMPLATE", type=click.Choice(list(KINDS)))
@click.argument("file", type=FILE, required=False)
@click.option("--rate", metavar="RATE", help="geo, leo, vpn: rate to the client, such as 20Mbit/s.")
@click.option("--return-rate", metavar="RATE", help="geo, leo, vpn: rate from the client.")
@click.option(
    "--controller",
    type=Completed("controller"),
    help="geo, leo, vpn, links: the congestion controller.",
)
@click.option(
    "--rain-at", metavar="TIME", help="geo: begin a rain event at this time, such as 300s."
)
@click.option(
    "--rain-peak", metavar="DB", help="geo: maximum attenuation of the rain event; by default 12."
)
@click.option(
    "--rain-duration", metavar="TIME", help="geo: duration of the rain event; by default 120s."
)
@click.option(
    "--modem",
    metavar="NAME",
    help="geo: the modem under rain: dvb-s2 (by default) or dvb-s2x, which adapt (ACM), or"
    " viterbi-3/4, a fixed one that loses the signal.",
)
@click.option(
    "--scenario", metavar="FILE", help="study: the scenario to run; written if it does not exist."
)
@click.option(
    "--controllers",
    metavar="A,B,...",
    type=Completed("controllers"),
    help="study: the controllers to compare.",
)
@click.option("--class", "class_", metavar="NAME", help="controller: name of the class.")
@click.option(
    "--rust", metavar="NAME", help="controller: write a Rust crate for a controller of this name."
)
@click.option(
    "--source",
    type=FILE,
    metavar="DIR",
    help="With --rust: Bentpipe's sources; by default those of this installation.",
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
def new(
    kind: str,
    file: Path | None,
    rust: str | None,
    source: Path | None,
    force: bool,
    **answers: str | None,
) -> None:
    """Write a commented template: a scenario (geo, leo, vpn, a link), a study or a controller.

    The command asks for values that no option gives. If stdin is not a terminal, the defaults are
    used. FILE has the name of the template by default, such as geo.toml, or is mine.py. With
    --rust, FILE is a folder.
    """
    from bentpipe.new import KINDS as TEMPLATES
    from bentpipe.new import write

    given = {name.rstrip("_").replace("_", "-"): value for name, value in answers.items()}
    found = {name: value for name, value in given.items() if value is not None}
    if rust is not None and kind != "controller":
        refuse(f"--rust: not used for {kind}, only for a controller")
    if source is not None and rust is None:
        refuse("--source: only used with --rust; add --rust NAME")
    if rust is not None:
        from bentpipe.new import crate

        if found:
            refuse(f"--{min(found)}: not used with --rust")
        written_about(crate.write(rust, file, source, force=force))
        return
    questions = TEMPLATES[kind].questions
    known = [*(question.option for question in questions), *TEMPLATES[kind].further]
    for option in sorted(found.keys() - set(known)):
        takes = ", ".join(f"--{option}" for option in known)
        refuse(f"--{option}: not used for {kind}, which takes {takes}")
    if sys.stdin is not None and sys.stdin.isatty():
        for question in questions:
            if question.option not in found:
                found[question.option] = click.prompt(question.text, default=question.default)
    written_about(write(kind, file, found, force=force))


def written_about(written: Written) -> None:
    """Print the files that were written, and the commands to continue with."""
    click.echo("\n".join(f"{path} written" for path in written.files))
    click.echo("\n".join(["next:", *(f"  {step}" for step in written.next_steps)]))


@cli.command()
@click.argument("crates", type=FILE, nargs=-1, required=True, metavar="CRATE...")
@click.option(
    "--out",
    type=FILE,
    default=".",
    metavar="DIR",
    help="Folder of the wheel; by default the current one.",
)
@click.option(
    "--quick", is_flag=True, help="Compile in less time. The engine then runs more slowly."
)
def wheel(crates: tuple[Path, ...], out: Path, quick: bool) -> None:
    """Build a wheel of Bentpipe with the controllers of Rust crates.

    CRATE is a folder, as `bentpipe new controller --rust NAME` writes it. See
    docs/adding-a-controller.md.
    """
    from bentpipe.wheel import build

    built = build(crates, out, quick=quick)
    click.echo(f"{built} written\nnext:\n  pip install --force-reinstall --no-deps {built}")


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
