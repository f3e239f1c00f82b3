"""The figures of each application, and the published targets for them.

A target has a source that was read. Other figures have none, and the tables say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bentpipe.numbers import common, scaled
from bentpipe.study.quantities import Quantity

Verdict = Literal["reached", "missed", "not clear", "undefined"]
"""The mean compared with a target; None for a figure without one.

`not clear` is an interval with the target in it, or too few runs for an interval.
"""
NO_TARGET = "no published target"


@dataclass(frozen=True)
class Target:
    """A published target, in the unit of its quantity. The field names are the JSON names."""

    value: float
    at_least: bool
    source: str

    def words(self, unit: str) -> str:
        """The target in words: `at least 4`."""
        factor, name = common(unit)
        number = f"{scaled(self.value, factor, 3)} {'' if name == '1' else name}".rstrip()
        return f"at {'least' if self.at_least else 'most'} {number}"

    def judge(self, mean: float | None, ci95: Any, *, exact: bool) -> Verdict:
        """The verdict on a mean with its interval; `exact` if no run depends on its seed."""
        if mean is None:
            return "undefined"
        if ci95 is None and not exact:
            return "not clear"
        low, high = ci95 or (mean, mean)
        if (low >= self.value) if self.at_least else (high <= self.value):
            return "reached"
        if (high < self.value) if self.at_least else (low > self.value):
            return "missed"
        return "not clear"


@dataclass(frozen=True)
class Figure:
    """A figure of an application: a quantity with `{flow}` in the place of the flow's name."""

    form: str
    label: str
    target: Target | None = None

    def quantity(self, flow: str) -> Quantity:
        """The quantity of a flow."""
        return Quantity(self.form.format(flow=flow))


@dataclass(frozen=True)
class Kind:
    """A kind of application, by its key in `traffic`."""

    key: str
    title: str
    figures: tuple[Figure, ...]


MOS = Target(
    4.0,
    at_least=True,
    source="FCC DA 18-710: at least 4 for high-latency services; ITU-T G.107: users satisfied",
)
MOUTH_TO_EAR = Target(
    400.0,
    at_least=False,
    source="ITU-T G.114 (2003): one-way delay for network planning",
)
DOWNLOAD = Target(100e6, at_least=True, source="FCC 24-27 (2024): benchmark of fixed broadband")
UPLOAD = Target(20e6, at_least=True, source="FCC 24-27 (2024): benchmark of fixed broadband")

KINDS = (
    Kind(
        "page",
        "Web page",
        (
            Figure("page.{flow}.response_s", "page load time"),
            Figure("page_loads.{flow}.byte_index_s", "byte index"),
            Figure("page_loads.{flow}.round_trips", "round trips"),
        ),
    ),
    Kind("web", "Simple web page", (Figure("page.{flow}.response_s", "page load time"),)),
    Kind(
        "video",
        "Video",
        (
            Figure("video.{flow}.start_up_s", "start-up"),
            Figure("video.{flow}.stalls", "stalls"),
            Figure("video.{flow}.stalled_s", "stalled"),
            Figure("video.{flow}.mean_bitrate_bps", "mean bit rate"),
            Figure("video.{flow}.switches", "switches"),
        ),
    ),
    Kind(
        "call",
        "Call",
        (
            Figure("min(call.{flow}.mos)", "MOS", MOS),
            Figure("min(call.{flow}.mos_without_echo)", "MOS without echo", MOS),
            Figure("max(call.{flow}.mouth_to_ear_ms)", "mouth to ear", MOUTH_TO_EAR),
            Figure("max(call.{flow}.loss)", "lost or late"),
        ),
    ),
    Kind(
        "messages",
        "Messages",
        (
            Figure("responses.{flow}.p50_response_ms", "median response"),
            Figure("responses.{flow}.p95_response_ms", "p95 response"),
            Figure("max(messages.{flow}.above_300ms)", "later than 300 ms or lost"),
        ),
    ),
    Kind(
        "speedtest",
        "Speed test",
        (
            Figure("speedtest.{flow}.download_bps", "download", DOWNLOAD),
            Figure("speedtest.{flow}.upload_bps", "upload", UPLOAD),
            Figure("speedtest.{flow}.idle_latency_ms", "latency, idle"),
            Figure("speedtest.{flow}.p95_download_latency_ms", "p95 latency, download"),
            Figure("speedtest.{flow}.responsiveness_rpm", "responsiveness"),
        ),
    ),
)
"""All kinds. Figures of calls are those of the worse direction."""


def kind_of(traffic: str) -> Kind | None:
    """The kind of a key in `traffic`; None for applications without figures of people."""
    return next((kind for kind in KINDS if kind.key == traffic), None)
