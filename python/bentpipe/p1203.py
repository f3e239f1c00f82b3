"""Videos of a run as input of the open implementation of ITU-T P.1203 (mode 0).

The implementation is `itu-p1203` (github.com/itu-p1203/itu-p1203). Its licence is for
non-commercial research, so it is not part of Bentpipe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.runs import Run

RESOLUTIONS = {
    300e3: "640x360",
    750e3: "960x540",
    1200e3: "1280x720",
    1850e3: "1280x720",
    2850e3: "1920x1080",
}
"""Least bit rates in bit/s with their resolutions. Our choice, after ladders for H.264."""
AUDIO_KBPS = 128.0
STREAM = 42


def resolution_of(bitrate: float, resolutions: Mapping[float, str]) -> str:
    """The resolution of the highest bit rate that is not above `bitrate`, else the lowest one."""
    below = [rate for rate in resolutions if rate <= bitrate]
    return resolutions[max(below, default=min(resolutions))]


def report(
    run: Run,
    flow: str,
    *,
    frame_rate: float = 25.0,
    resolutions: Mapping[float, str] = RESOLUTIONS,
    codec: str = "h264",
) -> dict[str, Any]:
    """The video of the flow `flow` as the input of `itu-p1203`.

    `frame_rate` is in frames per second, `resolutions` maps bit rates in bit/s to resolutions such
    as "1280x720". Audio is a stream of AAC-LC at 128 kbit/s. The stall at 0 s is the start-up
    delay.
    `ValueError` if the run has no such video, or the video never started.
    """
    tables = run.recording
    names = [one.flow for one in tables.flows]
    number = names.index(flow) if flow in names else None
    known = "video" in tables.names and "video_segment_series" in tables.names
    rows = tables.table("video_segment_series").to_dicts() if known else []
    segments = [row for row in rows if row["flow"] == number]
    if not segments:
        raise ValueError(f"expected the name of a flow with a video that has started: {flow!r}")
    (total,) = (row for row in tables.table("video").to_dicts() if row["flow"] == flow)
    stalls = (
        []
        if "video_stall_series" not in tables.names
        else (tables.table("video_stall_series").to_dicts())
    )
    seconds = [8 * row["bytes"] / row["bitrate_bps"] for row in segments]
    starts = [sum(seconds[:place]) for place in range(len(seconds))]
    video = [
        {
            "bitrate": row["bitrate_bps"] / 1e3,
            "codec": codec,
            "duration": round(duration, 6),
            "fps": frame_rate,
            "resolution": resolution_of(row["bitrate_bps"], resolutions),
            "start": round(start, 6),
        }
        for row, duration, start in zip(segments, seconds, starts, strict=True)
    ]
    audio = {
        "bitrate": AUDIO_KBPS,
        "codec": "aaclc",
        "duration": round(sum(seconds), 6),
        "start": 0,
    }
    paused = [[row["at_s"], row["duration_s"]] for row in stalls if row["flow"] == number]
    return {
        "I11": {"segments": [audio], "streamId": STREAM},
        "I13": {"segments": video, "streamId": STREAM},
        "I23": {"stalling": [[0, total["start_up_s"]], *paused], "streamId": STREAM},
        "IGen": {"device": "pc", "displaySize": "1920x1080", "viewingDistance": "150cm"},
    }
