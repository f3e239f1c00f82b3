"""Controllers in Python, and controllers with parameters, in many runs."""

from __future__ import annotations

import functools
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest

import bentpipe as bp
from bentpipe.problems import UnfitError
from bentpipe.prototypes import Spec, listed, pool
from bentpipe.study import Comparison, Parameter, Replications, Study
from conftest import SMALL
from test_study_cluster import a_cluster

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

QUANTITY = "flow.completion_s"

MINE = '''\
"""A controller whose file does what those of users do."""

import time

from bentpipe.controller import Controller, Loss, Settings

import helper


class Mine(Controller):
    """NewReno that keeps another share after a loss."""

    def __init__(self, settings: Settings, kept: float = 0.5) -> None:
        self.kept = kept

    def threshold_after_loss(self, loss: Loss) -> float:
        return helper.at_least(int(loss.flight * self.kept), 2 * self.window.mss)


class Fails(Mine):
    def on_loss(self, loss: Loss) -> None:
        self.deeper(loss)

    def deeper(self, loss: Loss) -> None:
        raise LookupError("planted")


class Loops(Mine):
    def on_loss(self, loss: Loss) -> None:
        while True:
            pass


class Defies(Mine):
    def on_loss(self, loss: Loss) -> None:
        while True:
            try:
                time.sleep(100)
            except BaseException:
                pass


class Stuck(Mine):
    def on_loss(self, loss: Loss) -> None:
        sum(range(10**13))


class Dies(Mine):
    def on_loss(self, loss: Loss) -> None:
        import os

        os._exit(3)


class Misspelt(Mine):
    def on_losses(self, loss: Loss) -> None:
        pass
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("at_least = max\n")
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


class Kept(bp.Controller):
    """The same as `Mine`, in a program."""

    def __init__(self, settings: bp.controller.Settings, kept: float = 0.5) -> None:
        self.kept = kept

    def threshold_after_loss(self, loss: bp.controller.Loss) -> float:
        return max(int(loss.flight * self.kept), 2 * self.window.mss)


def study(*controllers: Any, count: int = 3, baseline: Any = None) -> Study:
    against = [Comparison("controller", baseline)] if baseline else []
    return Study.make(
        name="own",
        scenario=bp.Scenario.parse(SMALL),
        quantities=[QUANTITY],
        parameters=[Parameter("controller", "flow.0.controller", controllers)],
        comparisons=against,
        replications=Replications(count=count),
    )


def values(found: Study, variant: int, **how: Any) -> list[float]:
    rows = found.run(**how).rows
    return rows.filter(rows["variant"] == variant).sort("replication")[QUANTITY].to_list()


def test_texts_are_read() -> None:
    assert Spec.parse("cubic") == Spec("cubic")
    hybla = Spec("hybla", {"rtt0": 0.05, "pacing": "off"})
    for text in ("hybla:rtt0=0.05:pacing=off", "hybla:rtt0=0.05,pacing=off",
                 '{ name = "hybla", rtt0 = 0.05, pacing = "off" }'):  # fmt: skip
        assert Spec.parse(text) == hybla
        assert Spec.parse(hybla.setting) == hybla
    assert Spec.parse("a/mine.py:Mine:kept=[1, 2]") == Spec("a/mine.py:Mine", {"kept": [1, 2]})
    assert Spec.parse("package.module:Outer.Mine").in_python
    for wrong in ("", "mine.py:", ":Mine", "hybla:rtt0=0.05:rtt0=1", "hybla:=1", "hybla:x=1:y",
                  "{ rtt0 = 1 }", "{ name = 'hybla'"):  # fmt: skip
        with pytest.raises(UnfitError):
            Spec.parse(wrong)


def test_lists_keep_parameters_with_their_controller() -> None:
    table = '{ name = "bbr3", a = "1,2" }'
    mine = "mine.py:Mine:k=[1,2]"
    text = f"cubic, hybla:rtt0=0.05,pacing=off,cubic,{table},{mine}"
    assert listed("--controllers", text) == ["cubic", "hybla:rtt0=0.05:pacing=off", table, mine]


def test_parameters_are_those_of_the_scenario() -> None:
    text, table = "hybla:rtt0=0.5", {"name": "hybla", "rtt0": 0.5}
    found = study("hybla", text, table)
    scenario = bp.Scenario.parse(SMALL).with_({"flow.0.controller": table})
    alone = [bp.run(scenario, seed=seed).flows["completion_s"][0] for seed in range(1, 4)]
    assert values(found, 1) == values(found, 2) == alone
    assert values(found, 0) != alone


def test_a_class_gives_in_every_process_what_it_gives_alone(mine: Path) -> None:
    text = f"{mine}:Mine:kept=0.5"
    found = study("newreno", text, Kept, functools.partial(Kept, kept=0.9), baseline=Kept)
    for workers in (1, 3):
        results = found.run(workers=workers)
        by_variant = results.rows.partition_by("variant", maintain_order=True)
        one, text_s, class_s, partial_s = (rows[QUANTITY].to_list() for rows in by_variant)
        assert one == text_s == class_s != partial_s
    assert [row.difference for row in results.comparisons][:2] == [0.0, 0.0]
    names = [row.of["flow.0.controller"] for row in results.comparisons]
    assert names == ["newreno", text, "Kept:kept=0.9"]


def test_a_scenario_keeps_what_its_controller_decides(mine: Path) -> None:
    scenario = bp.Scenario.parse(SMALL).with_({"flow.0.controller": "bic"})
    run = bp.run(scenario, controllers={"*": f"{mine}:Mine"})
    assert run.flows["controller"].to_list() == ["python:Mine"]
    (many,) = bp.run_many([(scenario, 1)], controllers={"*": f"{mine}:Mine"})
    assert many == run
    assert many.flow_series.height > 0


@pytest.mark.parametrize("name", ["Fails", "Loops", "Defies", "Stuck", "Dies"])
def test_a_failure_names_its_run_and_place_and_keeps_the_rows(
    mine: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "BLOCKED_S", 0.5)
    found = study(f"{mine}:Mine", f"{mine}:{name}", count=6)
    out = tmp_path / "out"
    with pytest.raises(bp.ControllerError) as raised:
        found.run(out=out, workers=1)
    error = raised.value
    # Run 5 has the first loss: odd runs are of the second controller.
    assert error.run is not None
    assert error.run % 2 == 1
    assert error.seed == 1 + error.run // 2
    assert error.finished == error.run
    kept = study(f"{mine}:Mine", f"{mine}:{name}", count=error.seed - 1 or 1)
    assert kept.run(out=out).rows.height >= error.run - 1
    message = str(error)
    assert f"run {error.run} of 12" in message
    assert f"seed {error.seed}" in message
    assert f"{error.run} finished runs are kept in {out}" in message
    if name == "Fails":
        assert 'raise LookupError("planted")' in message
    if name in ("Loops", "Defies", "Stuck"):
        assert "a method blocks" in message
    if name not in ("Dies", "Defies"):
        assert str(mine) in message
        assert "on_loss" in message
    assert "runner.py" not in message


def test_a_failure_in_the_middle_of_many_runs_keeps_the_others(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [(bp.Scenario.parse(SMALL), seed) for seed in range(1, 9)]
    with pytest.raises(bp.ControllerError) as raised:
        bp.run_many(jobs, workers=1, controllers={"*": f"{mine}:Fails"})
    with pytest.raises(bp.InputError, match="workers: expected"):
        bp.run_many(jobs, workers=0, controllers={"*": f"{mine}:Mine"})
    error = raised.value
    assert error.run is not None
    assert error.seed == error.run + 1
    assert [run is not None for run in error.runs] == [job < error.run for job in range(8)]
    assert "planted" in str(error)


def test_a_process_whose_answer_nobody_reads_ends_in_silence() -> None:
    """`pool` ends the other processes if a controller fails, whatever they have sent."""
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as dump:
        descriptors = (theirs.fileno(), dump.fileno())
        command = [sys.executable, "-m", "bentpipe.prototypes.worker", *map(str, descriptors)]
        with theirs:
            process = subprocess.Popen(command, pass_fds=descriptors, stderr=subprocess.PIPE)
        connection: Connection[Any, Any] = Connection(ours.detach())
        connection.send_bytes(
            cloudpickle.dumps(pool.Setup([pool.Case(bp.Scenario.parse(SMALL), ())], {}))
        )
        # No such case: the answer is a failure, and the process waits for another job.
        connection.send((0, 99, 1))
        assert connection.poll(60)
        connection.close()
        _, printed = process.communicate(timeout=60)
    assert (process.returncode, printed) == (0, b"")


def test_a_process_is_killed_before_its_connection_is_closed() -> None:
    worker = pool.Worker(cloudpickle.dumps(pool.Setup([], {})))
    opened, ended = worker.connection, []
    worker.connection = SimpleNamespace(close=lambda: ended.append(worker.process.returncode))
    worker.end()
    opened.close()
    assert ended == [-signal.SIGKILL]


@pytest.mark.parametrize(
    ("controller", "expected"),
    [
        ("mins.py:Mine", r"mins\.py.*did you mean .*mine\.py"),
        ("mine.py:Mina", r'"Mina".*did you mean "?Mine'),
        ("mine.py:Mine:keep=1", r'"keep".*did you mean "?kept'),
        ("mine.py:Misspelt", r"on_losses.*did you mean 'on_loss'"),
        ("mine.py:helper", "a class that inherits"),
        ("raises.py:Mine", r"(?s)raises\.py cannot be imported.*line 2.*ZeroDivisionError"),
        ("raises:Mine", r"(?s)raises cannot be imported.*line 2.*ZeroDivisionError"),
        ("syntax.py:Mine", r"(?s)syntax\.py cannot be imported.*def"),
        ("leaves.py:Mine", r"(?s)leaves\.py cannot be imported.*SystemExit"),
        ("nowhere:Mine", "a module that can be imported"),
        ("hybla:rtt=1", "'rtt'; did you mean 'rtt0'"),
        ("hyblo:rtt0=1", "'hyblo'; did you mean 'hybla'"),
    ],
)
def test_bad_input_is_answered_with_the_nearest(
    mine: Path, bentpipe: Bentpipe, controller: str, expected: str
) -> None:
    (mine.parent / "raises.py").write_text("x = 1\nx / 0\n")
    (mine.parent / "syntax.py").write_text("def f(:\n")
    (mine.parent / "leaves.py").write_text("raise SystemExit(3)\n")
    window = ("--set", "duration=1s", "--replications", "1")
    done = bentpipe("compare", "--link", "leo", "--controllers", f"cubic,{controller}", *window)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(expected, done.stderr), done.stderr
    assert "Error:" not in done.stderr.partition("\n")[0] or "Misspelt" in controller


def test_the_command_line_compares_and_evaluates_a_class(mine: Path, bentpipe: Bentpipe) -> None:
    window = ("--set", "duration=3s", "--replications", "2", "--json")
    done = bentpipe("compare", "--link", "leo", "--controllers", "mine.py:Mine,mine:Mine", *window)
    assert done.stderr == ""
    bulk = json.loads(done.stdout)["workloads"][0]
    found = {row["controller"]: row["mean"] for row in bulk["ranking"]}
    assert found["mine.py:Mine"] == found["mine:Mine"] == found["newreno"]
    done = bentpipe("evaluate", "mine.py:Mine", "--items", "onset", "--quick", "--json")
    assert done.stderr == ""
    (row,) = [one for one in json.loads(done.stdout)["items"][0]["findings"][0]["against"]
              if one["baseline"] == "newreno"]  # fmt: skip
    assert row["difference"] == 0


def test_tables_of_a_study_file_are_controllers(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "study.toml").write_text(f"""\
scenario = "small.toml"
parameters.controller.path = "flow.0.controller"
parameters.controller.values = ["hybla", "hybla:rtt0=0.5", {{ name = "hybla", rtt0 = 0.5 }}]
replications = {{ count = 3 }}
quantity = [{{ name = "{QUANTITY}" }}]
comparison = [{{ parameter = "controller", baseline = {{ name = "hybla", rtt0 = 0.5 }} }}]
""")
    found = Study.load(tmp_path / "study.toml")
    results = found.run(out=tmp_path / "out")
    assert results.rows["flow.0.controller"].to_list()[2] == '{ name = "hybla", rtt0 = 0.5 }'
    assert values(found, 1) == values(found, 2) != values(found, 0)
    assert [row.difference == 0 for row in results.comparisons] == [False, True]
    assert Study.load(tmp_path / "out" / "study.toml").run().rows.height == 9


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "--link", "leo", "--per", "0.01", "--controllers", "cubic,mine.py:Fails",
         "--set", "duration=3s", "--replications", "2"],
        ["compare", "--link", "leo", "--per", "0.01", "--controllers", "cubic,mine.py:Fails",
         "--set", "duration=3s", "--replications", "2", "--queue", "0.5bdp,1bdp"],
        ["evaluate", "mine.py:Fails", "--items", "packet-loss", "--quick"],
        ["study", "study.toml", "--workers", "1"],
    ],
)  # fmt: skip
def test_a_failure_in_a_command_names_the_run_and_keeps_the_rest(
    mine: Path, bentpipe: Bentpipe, command: list[str]
) -> None:
    (mine.parent / "small.toml").write_text(SMALL)
    (mine.parent / "study.toml").write_text(f"""\
scenario = "small.toml"
parameters.controller.path = "flow.0.controller"
parameters.controller.values = ["newreno", "mine.py:Fails"]
replications = {{ count = 3 }}
quantity = [{{ name = "{QUANTITY}" }}]
""")
    done = bentpipe(*command, "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    found = re.search(r"run \d+ of \d+ of \S+ \(seed \d+, .*\) failed: LookupError", done.stderr)
    assert found, done.stderr
    assert 'raise LookupError("planted")' in done.stderr
    assert f'File "{mine}"' in done.stderr
    kept = re.search(r"The rows of (\d+) finished runs are kept in (\S+)\.$", done.stderr.strip())
    assert kept, done.stderr
    assert (mine.parent / kept[2] / "study.json").is_file()
    if command[0] == "study":
        # The first seed has no loss.
        assert kept[1] == "1"


def test_a_changed_file_is_another_study(mine: Path, tmp_path: Path) -> None:
    study(f"{mine}:Mine").run(out=tmp_path / "out")
    mine.write_text(MINE.replace("kept: float = 0.5", "kept: float = 0.9"))
    with pytest.raises(bp.OutputError, match="holds another study"):
        study(f"{mine}:Mine").run(out=tmp_path / "out")


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same(mine: Path, tmp_path: Path) -> None:
    # A file is sent alone, without its neighbours.
    mine.write_text(MINE.replace("import helper", "").replace("helper.at_least", "max"))
    found = study("newreno", f"{mine}:Mine")
    with a_cluster(tmp_path / "cluster") as cluster:
        cluster.add_worker()
        cluster.wait_for_worker()
        results = found.run(cluster=cluster.address)
        with pytest.raises(bp.ControllerError, match="planted") as raised:
            study("newreno", f"{mine}:Fails").run(cluster=cluster.address)
        # The module of this test is not on the path of the workers.
        with pytest.raises(bp.ClusterError, match="No module named 'test_prototypes'"):
            study(Kept).run(cluster=cluster.address)
    assert results.rows.drop("wall_s").equals(found.run().rows.drop("wall_s"))
    assert raised.value.seed is not None
