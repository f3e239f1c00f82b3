"""Makes the two fades of the reproduction, `scenarios/fade-a.csv` and `scenarios/fade-b.csv`.

    python -m bentpipe.reproductions.davoli.recipe [FOLDER]

The recorded fades of the paper are not public, so these are synthesised to its description: 300
samples of one second, each of which holds for three; A is mild, and B is so deep from 400 s on
that the demodulator loses the signal for more than 100 s. Both are rain events at the paper's
site. The paper prints no attenuation; peaks and seeds are ours and were chosen before any run.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bentpipe.rain import SPINO_DADDA, DiracLognormal, event

SAMPLES = 300
HOLD_S = 3
"""Seconds for which the paper uses each sample of one second."""

SCENARIOS = Path(__file__).parent / "scenarios"


@dataclass(frozen=True)
class Fade:
    """One of the two patterns.

    `lost`: at this attenuation the scenarios' demodulator loses the signal (Eb/N0 4.5 dB), and the
    event is moved so that it is first exceeded at the time given with it; None leaves it alone.
    """

    name: str
    about: str
    peak_db: float
    seed: int
    lost: tuple[float, int] | None = None


FADES = (
    # At 2.4 dB the modem is at the lower of its two guaranteed points, Eb/N0 6.3 dB.
    Fade("fade-a", "pattern A, mild", peak_db=2.4, seed=21),
    Fade("fade-b", "pattern B, severe", peak_db=5.0, seed=23, lost=(3.76, 400)),
)


def attenuation(fade: Fade) -> list[float]:
    """The samples in dB, of one second each, rounded as recorded ones are."""
    rain = event(DiracLognormal.fit(SPINO_DADDA), fade.peak_db, float(SAMPLES), seed=fade.seed)
    samples = np.round(rain.attenuation_db[:SAMPLES], 2)
    if fade.lost is not None:
        level, at_s = fade.lost
        first = int(np.argmax(samples > level))
        # The event begins and ends dry, so that what moves in at one end is dry as well.
        later = -(-at_s // HOLD_S) - first
        samples = np.concatenate((np.zeros(max(later, 0)), samples[max(-later, 0) :]))
        samples = np.pad(samples, (0, max(SAMPLES - len(samples), 0)))[:SAMPLES]
    return [float(value) for value in samples]


def text(fade: Fade) -> str:
    """The file: one line for each second."""
    lines = [
        f"# Davoli et al., {fade.about}: synthesised by recipe.py, not recorded.",
        "time_s,attenuation_db",
    ]
    held = [value for value in attenuation(fade) for _ in range(HOLD_S)]
    lines += [f"{second},{value:.2f}" for second, value in enumerate(held)]
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Write both files to `folder`."""
    for fade in FADES:
        (folder / f"{fade.name}.csv").write_text(text(fade), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SCENARIOS)
