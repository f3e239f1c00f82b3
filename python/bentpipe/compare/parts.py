"""Parts of a comparison: each transport with each mechanism on the path.

A workload has one study for each part, with the controllers that the transport carries over this
path. The others are left out with the reason, which is that of the scenario language or the engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import bentpipe
from bentpipe.compare import legs
from bentpipe.compare.candidates import NONE, TCP, UNLIMITED
from bentpipe.compare.mechanisms import AS_IT_IS, WEAKEST
from bentpipe.errors import ControllerError, InputError, ScenarioError
from bentpipe.prototypes import Prototype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.links import Link
    from bentpipe.compare.mechanisms import OnPath
    from bentpipe.compare.transports import Over
    from bentpipe.compare.workloads import Workload
    from bentpipe.errors import Problem

OF_CANDIDATE = re.compile(r"flow\[\d+\]\.(controller|transport)(\..*)?")
"""Paths of the values that the name of a candidate has."""
NO_CONTROL = "none (no congestion control)"
"""The candidate without a controller, in sentences."""
NO_TIME = "1ms"
"""Duration of a run that only finds out whether the engine takes a controller in Python."""
NAMES = (
    "Names without a transport: over TCP. The background and the NewReno of the competition are"
    " always over TCP.",
)
"""What to know about the names of candidates with transports."""


@dataclass(frozen=True)
class Part:
    """A transport with a mechanism on the path, and the controllers that are compared over it."""

    link: Link
    slug: str
    candidates: list[Candidate]


@dataclass(frozen=True)
class LeftOut:
    """Candidates that take no part in some workloads. The field names are the JSON names."""

    controllers: list[str]
    workloads: list[str]
    reason: str
    sentence: str


@dataclass
class Plan:
    """The parts of each workload, and what does not take part or has no effect."""

    parts: dict[str, list[Part]]
    """By the name of the workload, without parts that have no controllers."""
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences on transports and split proxies, for the reader of the rankings."""
    split: str = ""
    """What splits the flows of the scenario, for the line that names the link."""
    on_path: list[OnPath] = field(default_factory=list)
    """The mechanisms of `--on-path`, without the path as it is."""

    @property
    def places(self) -> str:
        """Where the mechanisms of `--on-path` are; empty without any."""
        return ", ".join(f"{one.name} {one.place}" for one in self.on_path)

    @property
    def candidates(self) -> list[Candidate]:
        """All that take part in some workload."""
        parts = [part for each in self.parts.values() for part in each]
        return list(dict.fromkeys(one for part in parts for one in part.candidates))

    @property
    def sentences(self) -> list[str]:
        """What is left out and the notes, for people."""
        return [one.sentence for one in self.left_out] + self.notes

    @property
    def all_sentences(self) -> list[str]:
        """The places of the mechanisms of `--on-path`, and `sentences`."""
        places = [f"Mechanisms of --on-path: {self.places}."] if self.places else []
        return places + self.sentences


def planned(
    link: Link,
    controllers: Sequence[Candidate],
    asked: Sequence[Workload],
    transports: Sequence[Over] = (),
    mechanisms: Sequence[OnPath] = (),
) -> Plan:
    """Every controller with every transport and mechanism.

    Without `transports`, all of them over the transport of the link. With them, those that a
    transport does not carry are left out. `InputError` if it carries none, and for a workload that
    no path takes.
    """
    overs: Sequence[Over | None] = transports or [None]
    slots = [
        slot(link, over, mechanism, [*controllers, *unlimited(over, controllers, asked)])
        for over in overs
        for mechanism in mechanisms or [AS_IT_IS]
    ]
    changed = [sentence for one in mechanisms for sentence in one.replaced(link)]
    # TCP over the link carries all, and middleboxes refuse datagrams. A leg may have QUIC.
    base = transports[0].link if transports else link
    all_are_checked = transports or base.senders
    checked = asked if all_are_checked else [one for one in asked if one.has_datagrams]
    refused: dict[tuple[Workload, Candidate], str] = {
        (workload, candidate): reason
        for part in slots
        for candidate in part.candidates
        for workload in checked
        if (reason := why_not(workload, part.link, candidate))
    }
    parts = {
        workload.name: [
            replace(part, candidates=able)
            for part in slots
            if (able := [one for one in part.candidates if (workload, one) not in refused])
        ]
        for workload in asked
    }
    plan = Plan(parts, grouped(refused, len(asked)))
    plan.on_path = [one for one in mechanisms if one.changes]
    without = not_carried(plan, transports, refused)
    check_taken(plan)
    proxies = [one.name for one in mechanisms if one.is_proxy]
    crossing = unsplit(parts[asked[0].name], asked, proxies) if asked else {}
    plan.split = legs.on(base, crossing)
    about = [
        *legs.about(base),
        *changed,
        *kept(mechanisms, slots),
        *dict.fromkeys(crossing.values()),
    ]
    if not transports:
        plan.notes += about
        return plan
    left = [one for one in transports if one.name not in without]
    plan.notes += [*without.values(), *NAMES, *about, *dropped(left), *warnings(left, parts, asked)]
    return plan


def slot(
    link: Link, over: Over | None, mechanism: OnPath, controllers: Sequence[Candidate]
) -> Part:
    """All controllers over a transport, or over that of the link, and over a mechanism."""
    slugs = (over.slug if over else "", mechanism.slug)
    sure = (mechanism.status, over.status if over else mechanism.status)
    return Part(
        mechanism.on(over.link if over else link),
        "-".join(filter(None, slugs)),
        [
            replace(
                one,
                status=max(one.status, *sure, key=WEAKEST.index),
                transport=over.name if over else None,
                on_path=mechanism.name,
            )
            for one in controllers
        ],
    )


def unlimited(
    over: Over | None, controllers: Sequence[Candidate], asked: Sequence[Workload]
) -> list[Candidate]:
    """No congestion control, for a transport that carries none of the controllers."""
    if over is None or any(
        why_not(workload, over.link, one) is None for one in controllers for workload in asked
    ):
        return []
    return [UNLIMITED]


def why_not(workload: Workload, link: Link, candidate: Candidate) -> str | None:
    """The reason why the transport of the link does not carry a candidate; None if it does."""
    try:
        scenario = workload.scenario(link, candidate.value)
    except ScenarioError as error:
        return why(error.errors[0])
    if not candidate.in_python or (link.protocol == TCP and not link.senders):
        return None
    # The engine decides on controllers in Python when a run begins.
    made = Prototype.load(candidate.controller).make
    try:
        bentpipe.run(scenario.with_({"duration": NO_TIME}), controllers={workload.compared: made})
    except ControllerError:
        return f"no controllers in Python over {link.protocol}"
    return None


def why(problem: Problem) -> str:
    """The reason of a problem if it is about the candidate, otherwise the whole problem.

    A candidate is named with its controller and its transport, and no other value is.
    """
    if problem.reason and OF_CANDIDATE.fullmatch(problem.path):
        return problem.reason
    return problem.below("")


def grouped(refused: Mapping[tuple[Workload, Candidate], str], asked: int) -> list[LeftOut]:
    """Those that are left out of the same workloads, of `asked`, for the same reason."""
    of_name: dict[tuple[str, str], list[str]] = {}
    for (workload, candidate), reason in refused.items():
        of_name.setdefault((reason, candidate.name), []).append(workload.name)
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (reason, name), workloads in of_name.items():
        names.setdefault((reason, tuple(workloads)), []).append(name)
    found = []
    for (reason, where), who in names.items():
        of = "" if len(where) == asked else f" of {', '.join(where)}"
        # The word alone would say that there are none.
        shown = (
            one.replace(UNLIMITED.name, NO_CONTROL, 1) if is_unlimited(one) else one for one in who
        )
        sentence = f"Left out{of}: {', '.join(shown)}. Reason: {reason}."
        found.append(LeftOut(who, [*where], reason, sentence))
    return found


def is_unlimited(name: str) -> bool:
    """True for the name of a candidate without congestion control, over any transport."""
    return name.split()[0] == UNLIMITED.name


def not_carried(
    plan: Plan, transports: Sequence[Over], refused: Mapping[tuple[Workload, Candidate], str]
) -> dict[str, str]:
    """The transports that carry none of the controllers, each with a sentence that says so.

    `InputError` with all reasons if TCP carries none, or none of the others does.
    """
    carried = {one.transport for one in plan.candidates}
    missing = [over.name for over in transports if over.name not in carried]
    if not missing:
        return {}
    base, *named = (over.name for over in transports)
    if base in missing or missing == named:
        own = {key: why for key, why in refused.items() if key[1].transport in missing}
        reasons = "; ".join(
            f"{', '.join(one.controllers)}: {one.reason}" for one in grouped(own, len(plan.parts))
        )
        raise InputError(
            f"--transports: expected controllers that run over {' or '.join(missing)} on this"
            f" link, found none: {reasons}"
        )
    return {name: f"{name} is left out: no controller runs over it here." for name in missing}


def check_taken(plan: Plan) -> None:
    """`InputError` for a workload that runs over no path."""
    for name, parts in plan.parts.items():
        if not parts:
            reasons = [one.reason for one in plan.left_out if name in one.workloads]
            raise InputError(f"--workload {name}: {'; '.join(dict.fromkeys(reasons))}")


def dropped(transports: Sequence[Over]) -> list[str]:
    """The settings of the link that a transport does not take."""
    return [
        f"{over.name} does not take {' and '.join(over.dropped)} of the link's transport."
        for over in transports
        if over.dropped
    ]


def unsplit(
    parts: Sequence[Part], asked: Sequence[Workload], proxies: Sequence[str]
) -> dict[tuple[str, str | None], str]:
    """The split proxies that do nothing for the flow that is compared, as sentences.

    By the transport that crosses, and the proxy of `--on-path`, or None for that of the scenario.
    `proxies` are all of `--on-path`.
    """
    found: dict[tuple[str, str | None], str] = {}
    for part in parts:
        if part.link.protocol == TCP and not part.link.tunnel:
            continue
        candidate = part.candidates[0]
        explained = asked[0].scenario(part.link, candidate.value).explain()
        if all(node.proxy is None for node in explained.nodes) or explained.flows[0].legs:
            continue
        proxy = candidate.on_path if candidate.on_path in proxies else None
        name = proxy or "The split proxy of the scenario"
        hidden = any(node.proxy and node.proxy.hidden for node in explained.nodes)
        found[part.link.protocol, proxy] = (
            f"{name} does nothing: the tunnel hides the flows, and they cross it unsplit."
            if hidden
            else f"{name} does nothing for flows over {part.link.protocol}: they cross it unsplit."
            " Flows over TCP are split."
        )
    return found


def kept(mechanisms: Sequence[OnPath], slots: Sequence[Part]) -> list[str]:
    """The split proxies of `--on-path`, which keep the controllers of their presets."""
    found: list[str] = []
    for mechanism in (one for one in mechanisms if one.is_proxy):
        # Over TCP, which comes first.
        part = next(one for one in slots if one.candidates[0].on_path == mechanism.name)
        found += [
            f"+ {mechanism.name}: {sender.own} from {sender.leg}, as the preset has"
            " it. The controller before the + is that of the other legs."
            for sender in [one for one in legs.senders(part.link) if one.controller][:1]
        ]
    return found


def warnings(
    transports: Sequence[Over], parts: Mapping[str, Sequence[Part]], asked: Sequence[Workload]
) -> list[str]:
    """The warnings of `bentpipe explain` about the flow that is compared, over each transport."""
    found: dict[str, None] = {}
    for over in transports:
        for workload in asked:
            for part in parts[workload.name]:
                candidate = part.candidates[0]
                if candidate.transport == over.name != TCP and candidate.on_path == NONE:
                    explained = workload.scenario(part.link, candidate.value).explain()
                    for one in explained.warnings:
                        if one.subject == workload.compared:
                            found[f"{over.name}: {one.message}."] = None
    return list(found)
