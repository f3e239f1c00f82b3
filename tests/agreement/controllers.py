"""The download of the agreement tests with each controller, in Bentpipe and in ns-3."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from peers import HERE, NS3, flows

SCENARIO = HERE / "controllers.toml"


@dataclass(frozen=True)
class Variant:
    """A controller under the same rules in both, as far as parameters can make them the same."""

    ours: dict[str, Any]
    theirs: dict[str, Any]
    # What a loss reduces: ns-3 takes the pipe in some controllers, in others cwnd, which is the
    # flight size here.
    threshold: str = "pipe"


VARIANTS = {
    "newreno": Variant({"name": "newreno"}, {"controller": "NewReno"}),
    # RFC 9438 recommends HyStart++ and ns-3 has a HyStart of its own; both are switched off.
    "cubic": Variant(
        {"name": "cubic", "slow_start": "standard"},
        {"controller": "Cubic", "ns3::TcpCubic::HyStart": "false"},
        "flight-size",
    ),
    # The constants of the paper. ns-3 takes 2 / SmoothPart as the shortest step. Without fast
    # convergence, for which its rule is another one.
    "bic": Variant(
        {"name": "bic", "s_min": 1.0, "fast_convergence": "off"},
        {
            "controller": "Bic",
            "ns3::TcpBic::Beta": 0.875,
            "ns3::TcpBic::MaxIncr": 32,
            "ns3::TcpBic::BinarySearchCoefficient": 2,
            "ns3::TcpBic::SmoothPart": 2,
            "ns3::TcpBic::FastConvergence": "false",
        },
        "flight-size",
    ),
    # What ns-3 takes from Linux, and what of it can be set here.
    "bic-defaults": Variant(
        {"name": "bic", "beta": 0.2, "s_max": 16.0, "s_min": 0.8},
        {"controller": "Bic"},
        "flight-size",
    ),
    "highspeed": Variant({"name": "highspeed"}, {"controller": "HighSpeed"}),
    "westwood-plus": Variant({"name": "westwood-plus"}, {"controller": "WestwoodPlus"}),
    "veno": Variant({"name": "veno"}, {"controller": "Veno"}),
    # An RTT0 of 25 ms adds 433 segments in each RTT, and either simulator then tells how it leaves
    # an overshoot. 125 ms adds 17. ns-3 has neither pacing nor a first threshold from packet pairs.
    "hybla": Variant(
        {"name": "hybla", "rtt0": 0.125, "pacing": "off", "ssthresh": "scenario"},
        {"controller": "Hybla", "ns3::TcpHybla::RRTT": "125ms"},
    ),
    "vegas": Variant(
        {"name": "vegas", "alpha": 2, "beta": 4, "gamma": 1},
        {
            "controller": "Vegas",
            "ns3::TcpVegas::Alpha": 2,
            "ns3::TcpVegas::Beta": 4,
            "ns3::TcpVegas::Gamma": 1,
        },
    ),
}

NS3_CONTROLLERS = dataclasses.replace(
    NS3,
    axis="controller",
    variants={name: variant.theirs for name, variant in VARIANTS.items()},
    file=HERE / "ns3-controllers.json",
    own=(
        *NS3.own,
        ("bytes", 40_000_000),
        ("window", 2 << 20),
        ("delack", 1),
        ("timestamps", 1),
        ("recovery", "sack"),
        ("accessRate", "100Mbps"),
        ("rate", "20Mbps"),
        ("returnRate", "20Mbps"),
    ),
    note=(
        "20 Mbit/s, so that the RTT of the SYN and that of a full segment are the same number of "
        "milliseconds: only then does the Hybla of ns-3 ever set rho. See docs/agreement.md."
    ),
)


def our_goodputs(name: str, per: float, threshold: str | None = None) -> list[float]:
    """Of each seed in Bentpipe, in bits per second."""
    variant = VARIANTS[name]
    controller = dict(variant.ours)
    sets = (
        f"flow.0.controller={controller.pop('name')}",
        *(f"flow.0.controller.{parameter}={value}" for parameter, value in controller.items()),
        f"flow.0.transport.ssthresh_basis={threshold or variant.threshold}",
    )
    return [flow.goodput_bps for flow in flows(SCENARIO, sets, per)]
