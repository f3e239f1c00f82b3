"""The explanation of a scenario as data: what `Scenario.explain` returns.

The classes mirror those of the engine, which fills them by name, so a field that one side does not
have is an error.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Setting:
    """A value of the scenario."""

    name: str
    """Name in the notation of scenarios: `rate`, `transport.rto.min`."""
    value: Any
    """Quantities are numbers in `unit`; None is no limit, or none."""
    unit: str | None
    """`s`, `bit/s`, `B` or `dB`."""
    text: str
    """The value for people, with what follows from it."""
    default: bool
    """True for a default."""


@dataclass(frozen=True)
class Forwarding:
    """The limits of a router."""

    rate_bps: int
    buffer_bytes: int


@dataclass(frozen=True)
class Middlebox:
    """A middlebox at a node."""

    name: str
    data_of: list[str]
    acks_of: list[str]
    added_delay_ms: float


@dataclass(frozen=True)
class SharedRate:
    """A rate that all connections on a side of a gateway share."""

    rate_bps: float
    burst_bytes: int
    """Size of the token bucket."""


@dataclass(frozen=True)
class Proxy:
    """A split proxy at a node."""

    preset: str | None
    """Its preset, if it has one."""
    terrestrial: list[str]
    """Neighbours on the side that is not the satellite's."""
    satellite: list[str]
    """Neighbours on the side of the satellite."""
    splits: list[str]
    """Flows whose connections it splits."""
    unsplit: list[str]
    """Flows that cross it from one side to the other unsplit, because of their protocol."""
    hidden: list[str] = field(default_factory=list, kw_only=True)
    """Flows that cross it unsplit, because a tunnel hides them."""
    accept: str
    """When clients are accepted: "early", "late" or "early-if-known"."""
    connections: int | None
    """Maximum number of split connections at the same time; None without a limit."""
    relay_buffer_bytes: int
    terrestrial_rate: SharedRate | None
    """Rate that connections on the terrestrial side share; None without a limit."""
    satellite_rate: SharedRate | None
    """Rate that connections on the satellite side share; None without a limit."""


@dataclass(frozen=True)
class Leg:
    """A leg of a flow that gateways split."""

    from_: str
    to: str
    protocol: str
    """Transport protocol of its connections."""
    controller: str
    """Controller of the end that sends the data."""
    recovery: str
    propagation_rtt_ms: float
    base_rtt_ms: float
    """With the serialisation of a full packet and its ACK."""
    bottleneck: str
    bottleneck_bps: float
    bdp_bytes: float
    window_bytes: int
    window_limit_bps: float
    per: float
    """Probability that a full packet is corrupted, in clear sky."""


@dataclass(frozen=True)
class Node:
    """A host or router; `forwarding` is None where nothing limits it."""

    name: str
    forwarding: Forwarding | None
    middlebox: Middlebox | None = None
    proxy: Proxy | None = None


@dataclass(frozen=True)
class Event:
    """An event of a link direction; None stays as it is."""

    at_s: float
    every_s: float | None
    rate_bps: int | None
    delay_s: float | None
    outage_s: float | None


@dataclass(frozen=True)
class Effects:
    """Effects of a mechanism on a direction: added delay and rate, and what hosts see."""

    key: str
    """Its key, such as `channel`, `jitter` or `arq`."""
    heading: str
    """The heading of its table."""
    settings: list[Setting]


@dataclass(frozen=True)
class Direction:
    """One direction of a link."""

    from_: str
    to: str
    settings: list[Setting]
    effects: list[Effects]
    """Effects of the mechanisms on the direction; empty without any."""
    events: list[Event]

    def effects_of(self, key: str) -> list[Setting]:
        """Effects of the mechanism with this key; empty if it has none here."""
        found = (effects.settings for effects in self.effects if effects.key == key)
        return next(found, [])


@dataclass(frozen=True)
class Offered:
    """A load that does not depend on TCP."""

    mean_bps: float
    peak_bps: float
    bottleneck_bps: float
    """Mean rate of all such flows through the bottleneck."""


@dataclass(frozen=True)
class Figures:
    """Figures of a flow before it runs, without queues and before any event."""

    packet_bytes: int
    propagation_rtt_ms: float
    base_rtt_ms: float
    """With the serialisation of a full packet and its ACK."""
    bottleneck: str
    bottleneck_flows: int
    bottleneck_bps: float
    """Of IP packets."""
    bottleneck_queue_bytes: float | None
    """None is unlimited."""
    segment_time_ms: float
    return_bottleneck: str
    return_bottleneck_bps: float
    bdp_bytes: float
    bdp_segments: float
    window_bytes: int
    window_segments: int
    connections: int
    capacity_bps: float
    """Payload rate that the bottleneck carries."""
    window_limit_bps: float
    """Payload rate that the window allows."""
    ack_limit_bps: float
    """Payload rate at which ACKs fill the return way."""
    per: float
    """Packet error rate of a full packet, in clear sky."""
    ack_per: float
    mean_rate: bool
    """True if the rate of the bottleneck is the mean of a trace."""
    mean_delay: bool
    """True if the round-trip times have the mean delay of a trace."""
    offered: Offered | None = None
    rate_range_bps: list[float] | None = None
    """The smallest and the largest rate of the slowest place in the run; None without changes."""
    rtt_range_ms: list[float] | None = None
    """The shortest and the longest propagation delay there and back; None without changes."""


@dataclass(frozen=True)
class Controller:
    """The congestion controller of a flow."""

    name: str
    status: str
    implementation: str | None
    """The implementation in which its rules were read, if it was not the source."""
    source: str
    summary: str


@dataclass(frozen=True)
class PathOfFlow:
    """One of the paths of a flow with several (`transport.sctp.paths`)."""

    via: str
    """The node that it leads through."""
    route: list[str]
    return_route: list[str]
    base_rtt_ms: float
    bottleneck: str
    bottleneck_bps: float
    per: float
    failover_s: float
    """Least time from a loss of all packets until new data takes another path."""


@dataclass(frozen=True)
class HostSetting(Setting):
    """A value of a host of a flow."""

    origin: str
    """`host NAME`, `override of host NAME`, or `default`."""
    overridden: str | None
    """Value of the profile in the notation of scenarios, if it is overridden."""
    source: str | None
    """Source of the value of the profile."""
    certainty: str | None
    """`read in its source`, `measured`, `secondary source` or `reconstructed`."""


@dataclass(frozen=True)
class Host:
    """A host of a flow of which one end has a profile."""

    end: str
    """The key of the flow that names its node: `from` or `to`."""
    node: str
    profile: str | None
    """None for an end with the settings of the flow."""
    status: str | None
    """`from its sources` or `reconstructed`."""
    settings: list[HostSetting]
    """Values of the keys that the profiles of the flow set."""
    notes: list[str]
    """Rules of the system that the simulator does not have."""


@dataclass(frozen=True)
class TunnelOfFlow:
    """The tunnel of a flow."""

    protocol: str
    from_: str
    """The end that the data enters."""
    to: str
    """The end at which the data leaves."""
    mtu_bytes: int
    """Length of the longest packet inside."""
    packet_bytes: int
    """Length of a full packet of the flow."""
    outer_bytes: int
    """Length of the outer packet around it."""
    established: bool
    """True if it exists when the run starts."""
    round_trips: int
    """Round trips of its set-up."""
    set_up_ms: float
    """Duration of its set-up without queues and losses; zero if it exists."""
    controller: str | None
    """Congestion controller of its outer connection, if that has one."""
    window_bps: float | None
    """Payload of outer packets that its largest window lets through without a queue."""
    capsules: bool
    """True if lost packets of its outer connection are retransmitted, and all come out in order."""
    hidden_from: list[str]
    """Mechanisms between its ends that see one flow, and no TCP."""


@dataclass(frozen=True)
class Flow:
    """A `[[flow]]`; with `count` it stands for several flows, called `name.0`, `name.1`, ..."""

    name: str
    count: int
    summary: str
    endless: bool
    """True if it continues until the run ends, so that it never completes."""
    route: list[str]
    return_route: list[str]
    figures: Figures
    controller: Controller
    settings: list[Setting]
    legs: list[Leg] = field(default_factory=list)
    """Its legs, if gateways split it."""
    paths: list[PathOfFlow] = field(default_factory=list)
    """Its paths, if it names them, the primary one first."""
    hosts: list[Host] = field(default_factory=list)
    """Both hosts, if one of them has a profile."""
    tunnel: TunnelOfFlow | None = None
    """Its tunnel, if it has one."""


@dataclass(frozen=True)
class Recorded:
    """Rows and memory of the recording, at most. A run that ends earlier has fewer."""

    flow_series_rows: int
    """Of samples."""
    link_series_rows: int
    event_rows: int
    """Rows of `flow_series` by `record.events`, estimated."""
    object_rows: int
    memory_bytes: int


@dataclass(frozen=True)
class Warning:  # noqa: A001
    """A warning: the scenario runs, but probably not as intended."""

    kind: str
    """Stable, such as `window_below_bdp`."""
    subject: str
    """The flow, or the link with its direction; empty for the scenario."""
    message: str
    file: str | None = None
    """The file of the scenario; None for one of a program."""
    line: int | None = None
    """The line of what it is about, from 1; None for the scenario as a whole."""
    column: int | None = None
    set: str | None = None
    """The override that wrote it."""

    @property
    def sentence(self) -> str:
        """The warning without its place."""
        return f"{self.subject}: {self.message}" if self.subject else self.message

    @property
    def place(self) -> str:
        """`geo.toml:12:3` or `--set link.0.rate=1Mbit/s`; empty for a scenario of a program."""
        numbers = (str(one) for one in (self.line, self.column) if one is not None)
        return self.set or ":".join(filter(None, (self.file, *numbers)))

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}" if self.place else self.sentence


@dataclass(frozen=True)
class OnLinux:
    """Relation of a controller of the scenario to Linux (docs/kernel.md)."""

    controller: str
    kernel_name: str | None
    """Name of Linux's own controller for it, or of one that could be taken for it; None if none."""
    likeness: str | None
    """`same`, a `variant` (approximated) or a `different` algorithm (rejected)."""
    differs: str
    """What Linux does differently."""
    loadable: bool
    """True if `bentpipe kernel load` loads the definition itself, which then has priority."""

    def __str__(self) -> str:
        load = f"`bentpipe kernel load {self.controller}` loads it" if self.loadable else ""
        if self.kernel_name is None:
            return f"Linux has none{'; ' if load else ', so that a run is rejected'}{load}"
        own = {
            "same": f"Linux's own {self.kernel_name}: the same algorithm",
            "variant": f"approximated by Linux's {self.kernel_name}, which {self.differs}",
            "different": f"rejected: {self.differs}",
        }[str(self.likeness)]
        return f"{own}; {load}" if load else own


@dataclass(frozen=True)
class Explanation:
    """A scenario explained. `str` is what `bentpipe explain` prints, within 100 columns."""

    scenario: str
    settings: list[Setting]
    nodes: list[Node]
    links: list[Direction]
    flows: list[Flow]
    recording: Recorded
    warnings: list[Warning]
    beams: list[dict[str, Any]]
    """Beams with capacities, plans and classes, as `bentpipe explain --json` has them."""
    mixes: list[dict[str, Any]]
    """Mixes with their sources and flows, as `bentpipe explain --json` has them."""
    switches: list[dict[str, Any]]
    """Switches with their paths and moves, as `bentpipe explain --json` has them."""
    text: str = field(repr=False, compare=False)

    def __str__(self) -> str:
        from bentpipe.printing.explanation import within
        from bentpipe.shown import WIDTH

        return within(self, WIDTH)

    @classmethod
    def of(cls, data: dict[str, Any], text: str) -> Explanation:
        """From the data of the engine."""
        return cls(
            scenario=data["scenario"],
            settings=settings(data["settings"]),
            nodes=[node(one) for one in data["nodes"]],
            links=[direction(one) for one in data["links"]],
            flows=[flow(one) for one in data["flows"]],
            recording=Recorded(**data["recording"]),
            warnings=[Warning(**one) for one in data["warnings"]],
            beams=data.get("beams", []),
            mixes=data.get("mixes", []),
            switches=data.get("switches", []),
            text=text,
        )

    @property
    def on_linux(self) -> list[OnLinux]:
        """What the controllers of flows and legs are on Linux, as for a run on the kernel."""
        import bentpipe

        own = {row.definition: row for row in bentpipe.kernel_likeness()}
        loadable = {row.name for row in bentpipe.kernel_controllers()}
        return [
            OnLinux(
                controller=name,
                kernel_name=own[name].kernel_name if name in own else None,
                likeness=own[name].likeness if name in own else None,
                differs=own[name].differs if name in own else "",
                loadable=name in loadable,
            )
            for name in dict.fromkeys(
                name
                for flow in self.flows
                for name in (flow.controller.name, *(leg.controller for leg in flow.legs))
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries; names are those of `bentpipe explain --json`."""
        data = asdict(self)
        del data["text"]
        for link in data["links"]:
            link["from"] = link.pop("from_")
        for flow in data["flows"]:
            for leg in flow["legs"]:
                leg["from"] = leg.pop("from_")
            if tunnel := flow["tunnel"]:
                tunnel["from"] = tunnel.pop("from_")
        return data

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict())


def settings(data: list[dict[str, Any]]) -> list[Setting]:
    """A list of settings."""
    return [Setting(**one) for one in data]


def proxy(data: dict[str, Any]) -> Proxy:
    """One split proxy."""
    rates = {key: data[key] and SharedRate(**data[key]) for key in data if key.endswith("_rate")}
    return Proxy(**{**data, **rates})


def node(data: dict[str, Any]) -> Node:
    """One node."""
    limits, middlebox = data["forwarding"], data.get("middlebox")
    return Node(
        data["name"],
        Forwarding(**limits) if limits else None,
        Middlebox(**middlebox) if middlebox else None,
        proxy(data["proxy"]) if "proxy" in data else None,
    )


def direction(data: dict[str, Any]) -> Direction:
    """One direction of a link."""
    data = dict(data)
    return Direction(
        from_=data.pop("from"),
        settings=settings(data.pop("settings")),
        effects=[
            Effects(one["key"], one["heading"], settings(one["settings"]))
            for one in data.pop("effects")
        ],
        events=[Event(**one) for one in data.pop("events")],
        **data,
    )


def flow(data: dict[str, Any]) -> Flow:
    """One flow."""
    data = dict(data)
    figures = dict(data.pop("figures"))
    offered = figures.pop("offered", None)
    legs = [dict(one) for one in data.pop("legs", [])]
    hosts = [dict(one) for one in data.pop("hosts", [])]
    tunnel = dict(data.pop("tunnel", None) or {})
    return Flow(
        tunnel=TunnelOfFlow(from_=tunnel.pop("from"), **tunnel) if tunnel else None,
        hosts=[
            Host(settings=[HostSetting(**one) for one in host.pop("settings")], **host)
            for host in hosts
        ],
        paths=[PathOfFlow(**path) for path in data.pop("paths", [])],
        legs=[Leg(from_=leg.pop("from"), **leg) for leg in legs],
        figures=Figures(**figures, offered=Offered(**offered) if offered else None),
        controller=Controller(**data.pop("controller")),
        settings=settings(data.pop("settings")),
        **data,
    )
