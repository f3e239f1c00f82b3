"""The command `new` with a help for each template."""

from __future__ import annotations

import click

from bentpipe.templates import FILES, KINDS, LINKS

KIND = "bentpipe.kind"
FOR_ALL = ("--force", "--help")


class New(click.Command):
    """`new`, whose help after a template has the options of this template only."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the template before `--help` is answered."""
        ctx.meta[KIND] = next((word for word in args if word in KINDS), None)
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage of the template."""
        kind = ctx.meta.get(KIND)
        words = f"{kind} [OPTIONS] [FILE]" if kind else "[OPTIONS] TEMPLATE [FILE]"
        formatter.write_usage(ctx.command_path, words)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the template is; without one, list the templates."""
        kind = ctx.meta.get(KIND)
        if kind is None:
            super().format_help_text(ctx, formatter)
            with formatter.section("Templates (each has a help: bentpipe new geo --help)"):
                formatter.write_dl(list(KINDS.items()))
            return
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"Write {KINDS[kind]}.")
            formatter.write_paragraph()
            formatter.write_text(
                f"FILE is {FILES[kind]} by default. The command asks for values that no option"
                " gives, if stdin is a terminal."
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the template, without its name before each."""
        kind = ctx.meta.get(KIND)
        rows: list[tuple[str, str]] = []
        for parameter in (one for one in self.get_params(ctx) if isinstance(one, click.Option)):
            record = parameter.get_help_record(ctx)
            if record is not None and (kind is None or is_of(kind, *record)):
                of, colon, text = record[1].partition(": ")
                named = kind is not None and colon and named_by(of) <= KINDS.keys()
                rows.append((record[0], text[:1].upper() + text[1:] if named else record[1]))
        with formatter.section("Options"):
            formatter.write_dl(rows)


def is_of(kind: str, names: str, text: str) -> bool:
    """True if an option is one of a template; the help names templates before a colon."""
    of, colon, _ = text.partition(": ")
    templates = named_by(of)
    if colon and templates <= KINDS.keys():
        return kind in templates
    return any(one in names for one in FOR_ALL) or (kind == "controller" and "--source" in names)


def named_by(words: str) -> set[str]:
    """The templates before the colon of a help; `links` stands for all built-in links."""
    names = set(words.split(", "))
    return names - {"links"} | set(LINKS) if "links" in names else names
