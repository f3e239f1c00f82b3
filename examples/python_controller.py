"""Two controllers in Python: Reno as the RFCs describe it, and a new one to compare with.

    python examples/python_controller.py [FOLDER]

writes python_controller.svg into FOLDER (here by default). Guide: docs/python-controllers.md.
"""

import sys
from pathlib import Path

import bentpipe
from bentpipe.controller import Ack, Controller, Loss, PartialAck, Settings


class Reno(Controller):
    """Standard TCP, RFC 5681 and RFC 6582, with nothing left to the defaults.

    Runs byte for byte as the controllers `reno` and `newreno`: tests/test_controller.py shows it.
    """

    def on_ack(self, ack: Ack) -> None:
        """Grow while cwnd is what holds the sender back (RFC 7661)."""
        if ack.cwnd_limited:
            if self.window.cwnd < self.window.ssthresh:
                self.slow_start(ack)
            else:
                self.avoid_congestion(ack)

    def slow_start(self, ack: Ack) -> None:
        """One segment for each that is acknowledged (RFC 5681 equation 2, RFC 3465)."""
        self.window.cwnd += self.window.counted(ack.acked)

    def avoid_congestion(self, ack: Ack) -> None:
        """One segment in a round trip (RFC 5681 equation 3)."""
        counted = max(self.window.counted(ack.acked), self.window.mss)
        self.window.grow_by_fraction(self.window.mss * counted)

    def threshold_after_loss(self, loss: Loss) -> float:
        """Half the flight size (RFC 5681 equation 4)."""
        return max(loss.flight // 2, 2 * self.window.mss)

    def on_loss(self, loss: Loss) -> None:
        """Fast retransmit (RFC 5681 section 3.2)."""
        self.window.ssthresh = self.window.cwnd = self.threshold_after_loss(loss)

    def on_congestion_mark(self, loss: Loss) -> None:
        """As after a loss (RFC 3168 section 6.1.2)."""
        self.on_loss(loss)

    def on_partial_ack(self, partial: PartialAck) -> None:
        """Deflate, and add a segment back (RFC 6582 section 3.2 step 5)."""
        if partial.inflates:
            mss = self.window.mss
            deflated = max(self.window.cwnd - partial.acked, 0)
            self.window.cwnd = max(deflated + (mss if partial.acked >= mss else 0), mss)

    def on_recovery_exit(self, now_s: float) -> None:
        """Full deflation (RFC 6582 section 3.2 step 3)."""
        self.window.cwnd = self.window.ssthresh

    def on_timeout(self, loss: Loss) -> None:
        """Start over with one segment (RFC 5681 section 3.1)."""
        if not loss.repeated:
            self.window.ssthresh = self.threshold_after_loss(loss)
        self.window.cwnd = self.window.mss

    def on_idle(self) -> None:
        """At most the initial window (RFC 5681 section 4.1)."""
        self.window.cwnd = min(self.window.cwnd, self.window.initial)


class Discerning(Controller):
    """A toy: reduces cwnd little after a loss without a queue, because noise caused it.

    Everything else is standard TCP.
    """

    def __init__(self, settings: Settings, *, kept: float = 0.875) -> None:
        super().__init__(settings)
        self.kept = kept
        self.queueing = 0.0

    def on_ack(self, ack: Ack) -> None:
        """Note how much of the round trip is spent in queues."""
        if ack.srtt_s and ack.min_rtt_s:
            self.queueing = 1 - ack.min_rtt_s / ack.srtt_s
        super().on_ack(ack)

    def threshold_after_loss(self, loss: Loss) -> float:
        """Half the flight only if it stood in a queue."""
        if self.queueing < 0.1:
            return max(int(loss.flight * self.kept), 2 * self.window.mss)
        return super().threshold_after_loss(loss)


def main() -> None:
    """Both over the same lossy link, with the same losses: python_controller.svg and goodputs."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    scenario = bentpipe.Scenario.load(Path(__file__).with_name("lossy-geo.toml"))
    runs = [
        bentpipe.run(scenario, seed=1, controllers={"transfer": controller})
        for controller in (Reno, Discerning)
    ]
    bentpipe.plot(runs, "cwnd").save(folder / "python_controller.svg")
    for run in runs:
        (flow,) = run.to_dict()["flows"]
        print(f"{flow['controller']:20} {flow['goodput_bps'] / 1e6:5.2f} Mbit/s")


if __name__ == "__main__":
    main()
