"""The methods paragraph of a paper, as LaTeX."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from bentpipe.cite.bibtex import escaped
from bentpipe.cite.library import Thing, cited, key_of, library
from bentpipe.cite.work import OVER_A_BEAM

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from bentpipe.cite.work import Part, Work

TOOL = "bentpipe"
"""The key of the tool."""
MADE_UP = ("methods", "papers")
"""Kinds of things that have sentences of their own."""
HEADINGS = {
    "controllers": "Congestion controllers",
    "python": "Controllers of our own in Python",
    "transports": "Transport protocols",
    "recoveries": "Loss recovery",
    "hosts": "Host profiles",
    "mixes": "Mixes of applications",
    "settings": "Settings",
    "applications": "Applications",
    "pages": "Models of pages",
    "http": "Versions of HTTP",
    "tls": "Versions of TLS",
    "rules": "Rules of adaptive video",
    "codecs": "Codecs",
    "beams": "Beams",
    "channels": "Channels",
    "rain": "Rain models",
    "series": "Series of attenuation",
    "traces": "Traces",
    "constellations": "Constellations",
    "switches": "Rules of routers with several paths",
    "hints": "Hints of path changes",
    "mechanisms": "Mechanisms on the path",
}
"""Kinds of things in the order of the paragraph."""
INTERVALS = {
    "student": r"Student's $t$ distribution on the logarithmic scale",
    "logit": r"Student's $t$ distribution on the logit scale",
    "wilson": "Wilson's score for shares of successes",
    "linear": r"Student's $t$ distribution",
    "bootstrap": "the bootstrap (BCa)",
    "count": "the score interval of a Poisson mean",
}
"""Methods of intervals in words."""
PARTIAL = "The runs were interrupted, and the results are partial."
RECONSTRUCTED = "reconstructed"
"""The status of things some of whose rules are a choice of Bentpipe."""


def keys(thing: Thing) -> list[str]:
    """The keys of the publications and programs that a thing cites."""
    found = cited(thing)
    listed = [*found] if isinstance(found, list) else []
    if thing.implementation:
        listed.append(thing.implementation)
    known = library()["entries"]
    return list(dict.fromkeys(one if one in known else key_of(one) for one in listed))


def cite(*names: str) -> str:
    """The command that cites keys; nothing without any."""
    return rf"~\\cite{{{','.join(names)}}}".replace("\\\\", "\\") if names else ""


def paragraph(work: Work) -> str:
    """The methods: version, seeds, replications, intervals, and what was used."""
    return " ".join([*about_runs(work), *about_things(work.things)])


def about_runs(work: Work) -> Iterator[str]:
    """Sentences on the tool and on its runs."""
    tool = f"Bentpipe {escaped(work.version)}{cite(TOOL)}"
    names = escaped(work.name)
    if work.backend == "kernel":
        yield (
            f"The scenario {names} ran on the TCP of Linux {escaped(work.kernel or '')} over links"
            f" that {tool} emulates."
        )
    elif work.kind in ("scenario", "study file"):
        yield f"{tool} simulates the {work.kind.removesuffix(' file')} {names}."
    else:
        what = {
            "run": f"the scenario {names}",
            "compare": f"congestion controllers on the link {names}",
            OVER_A_BEAM: f"congestion controllers over the beam of {names}",
            "evaluate": f"{' and '.join(evaluated(work.things))} for {names}",
            "experience": f"the applications of people on the scenario {names}",
            "papers": f"reproductions of published experiments ({names})",
        }.get(work.kind, f"the study {names}")
        yield f"{tool} simulated {what}."
    yield from about_parts(work.parts)
    kinds = sorted({kind for part in work.parts for kind in part.intervals})
    if kinds:
        words = [f"{INTERVALS[k]}{cite(*keys(Thing('methods', k)))}" for k in kinds]
        yield rf"Intervals are 95\,\% intervals of means, by {', or '.join(words)}."
    if any(part.compared for part in work.parts):
        yield (
            "Differences are those of pairs of runs with the same seed, tested by paired"
            rf" $t$-tests at 5\,\%, corrected by the method of Holm{cite('holm1979')}."
        )
    if any(thing == Thing("methods", "jain") for thing in work.things):
        yield f"Fairness is Jain's index{cite('jain1984')}."


def evaluated(things: Collection[Thing]) -> Iterator[str]:
    """What an evaluation has run: the checklist, workloads, or both."""
    if Thing("methods", "checklist") in things:
        yield f"the checklist of RFC 9743{cite('rfc9743')}"
    if Thing("methods", "workloads") in things:
        yield "workloads of people"


def about_parts(parts: Sequence[Part]) -> Iterator[str]:
    """Sentences on variants, replications and seeds; one for parts that have the same.

    The last one has the runs of all parts, if there are several.
    """
    if len(parts) == 1:
        yield from sentences_of(parts[0], " in all")
        return
    groups: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        groups[" ".join(sentences_of(part, ""))].append(part)
    for of in groups.values():
        each = f" in each of these {len(of)}" if len(of) > 1 else ""
        if text := " ".join(sentences_of(of[0], each)):
            yield f"{', '.join(escaped(part.name) for part in of)}: {text}"
    runs = [part.runs for part in parts if part.runs is not None]
    if runs:
        yield f"There were {sum(runs)} runs in all."


def sentences_of(part: Part, of_what: str) -> Iterator[str]:
    """Sentences on one study or run; `of_what` follows the number of its runs."""
    planned = part.replications
    if "least" in planned:
        yield from about_ranges(part, of_what)
        return
    count, seed = planned.get("count"), planned.get("seed")
    if part.variants > 1 or (count or 0) > 1 or "quantity" in planned:
        noun = "variant" if part.variants == 1 else "variants"
        runs = "" if part.runs is None else f", {part.runs} runs{of_what}"
        if count is None and "quantity" in planned:
            yield (
                f"{part.variants} {noun} ran until the half width of the interval of"
                f" {escaped(str(planned['quantity']))} was at most"
                rf" {planned['relative_half_width'] * 100:g}\,\% of the mean, with at most"
                f" {planned['maximum']} replications{runs}."
            )
        elif count is not None:
            each = "replication" if count == 1 else "replications"
            yield f"{part.variants} {noun} had {count} {each} each{runs}."
        else:
            yield f"{part.variants} {noun}{runs}."
        if seed is not None:
            last = f" to {seed + count - 1}" if count and count > 1 else ""
            to = last or ("" if count else " and up")
            yield (
                f"Replications have the seeds {seed}{to}, the same for all variants, so that all"
                " meet the same random losses."
            )
    elif seed is not None:
        yield f"Its random numbers have the seed {seed}."
    if not part.complete:
        yield PARTIAL


def about_ranges(part: Part, of_what: str) -> Iterator[str]:
    """Sentences on scenarios that have different numbers of replications.

    `of_what` follows the number of runs.
    """
    planned = part.replications
    least, most, first, last = (planned[key] for key in ("least", "most", "first", "last"))
    noun = "variant" if part.variants == 1 else "variants"
    each = f"{most} {'replication' if most == 1 else 'replications'}"
    some = each if least == most else f"{least} to {each}"
    yield f"{part.variants} {noun} had {some} each, {part.runs} runs{of_what}."
    yield f"Seeds are {first} to {last}." if first < last else f"The seed is {first}."
    if not part.complete:
        yield PARTIAL


def about_things(things: set[Thing]) -> Iterator[str]:
    """One sentence for each kind of things."""
    groups: dict[str, dict[str, None]] = defaultdict(dict)
    for thing in sorted(things, key=lambda one: (one.kind, one.name, one.implementation or "")):
        first = thing.kind.partition(".")[0]
        if first in MADE_UP:
            continue
        label = thing.label if first == "mechanisms" else thing.words
        note = f" ({RECONSTRUCTED})" if thing.status == RECONSTRUCTED else ""
        groups[first][f"{escaped(label)}{cite(*keys(thing))}{note}"] = None
    for kind, heading in HEADINGS.items():
        if kind in groups:
            yield f"{heading}: {', '.join(groups[kind])}."
