"""Bad input is answered with exit status 2, place, expectation and nearest name, and no files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from conftest import SMALL

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe


@pytest.mark.parametrize(
    ("right", "wrong", "line", "answer"),
    [
        ('rate = "2Mbit/s"', 'rte = "2Mbit/s"', 6, "did you mean `rate`"),
        ('rate = "2Mbit/s"', 'rate = "2Mbits"', 6, "Mbit/s"),
        ('rate = "2Mbit/s"', 'rate = "-2Mbit/s"', 6, "rate"),
        ('rate = "2Mbit/s"', 'rate = "0bit/s"', 6, "rate"),
        ('rate = "2Mbit/s"\n', "", 4, "rate"),
        ("per = 0.01", "per = 1.5", 8, "a number from 0 to 1"),
        ('to = "client"', 'to = "clint"', 12, "client"),
        ('controller = "newreno"', 'controller = "newrenoo"', 13, "newreno"),
        ('"60s"', '"60 parsecs"', 2, "a time"),
        ("[record]", "[record", 16, "TOML"),
        (
            "[record]",
            "[flow.transport]\nwindow_scaling = false\nreceive_buffer = '1MB'\n[record]",
            18,
            "window",
        ),
    ],
)
def test_wrong_scenarios(
    bentpipe: Bentpipe, tmp_path: Path, right: str, wrong: str, line: int, answer: str
) -> None:
    assert right in SMALL
    scenario = tmp_path / "wrong.toml"
    scenario.write_text(SMALL.replace(right, wrong, 1))
    done = bentpipe("run", scenario, "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count(f"wrong.toml:{line}:") == 1
    assert answer in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_node_that_no_link_reaches(bentpipe: Bentpipe, tmp_path: Path) -> None:
    scenario = tmp_path / "wrong.toml"
    island = '[[link]]\nbetween = ["a", "b"]\nrate = "1Mbit/s"\ndelay = "1ms"\n'
    scenario.write_text(SMALL.replace('to = "client"', 'to = "b"') + island)
    done = bentpipe("run", scenario)
    assert done.returncode == 2
    assert "wrong.toml:" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["run", "absent.toml"], "absent.toml"),
        (["explain", "absent.toml"], "absent.toml"),
        (["run"], "FILE"),
        (
            ["run", "small.toml", "--backend", "kernel", "--set", "flow.0.controller=adalr"],
            "this kernel has",
        ),
        (["run", "small.toml", "--backend", "moon"], "simulator"),
        (["run", "small.toml", "--seed", "-1"], "seed"),
        (["run", "small.toml", "--pcap"], "--out"),
        (["run", "small.toml", "--keylog"], "--out"),
        (["run", "small.toml", "--qlog"], "--out"),
        (["run", "small.toml", "--set", "flow.0.controler=reno"], "controller"),
        (
            ["run", "small.toml", "--set", "flow.0.controller={ name = 'bic', s_min = 40 }"],
            "at most s_max, 32",
        ),
        (["compare", "--link", "leo", "--controllers", "vegas:beta=0.5"], "at least alpha, 1"),
        (["run", "small.toml", "--set", "nonsense"], "PATH=VALUE"),
        (["run", "small.toml", "--sede", "1"], "--seed"),
        (["controllers", "newrenno"], "newreno"),
        (["papers", "run", "adarl"], "adalr"),
        (["papers", "run", "leo", "--data", "none"], "--data: expected a folder, found none"),
        (
            ["papers", "run", "leo", "--data", "."],
            "hypatia/rtt_1173_to_1241.txt, or with .gz, found none; it is that of snkas/hypatia",
        ),
        (
            ["papers", "run", "adalr", "--data", "."],
            "--data: none of these reads measured files; leo does",
        ),
        (["study", "small.toml"], "expected a study, found a scenario"),
    ],
)
def test_wrong_arguments(
    bentpipe: Bentpipe, tmp_path: Path, small: Path, arguments: list[str], answer: str
) -> None:
    done = bentpipe(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert answer in done.stderr
    assert list(tmp_path.iterdir()) == [small]


def test_an_unwritable_folder_is_found_before_the_run(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    # Below a file nobody can make a folder, not even root.
    forever = ["--set", "duration=80000h", "--set", 'flow.0.traffic={bulk="unlimited"}']
    for command in (["run", str(small), *forever], ["papers", "run"]):
        done = bentpipe(*command, "--out", small / "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert "small.toml" in done.stderr
    assert list(tmp_path.iterdir()) == [small]


def test_a_folder_with_foreign_files_is_left_alone(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    assert bentpipe("run", small, "--out", folder).returncode == 2
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    assert bentpipe("run", small, "--out", folder, "--force").returncode == 0
    assert (folder / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        # Names that begin with it or contain it come before slips of single letters.
        (
            ("compare", "--link", "geo"),
            "no link 'geo'; did you mean 'geo-irtf', 'geo-ka', 'geo-ku' or 'geo-lossy'?",
        ),
        (("path", "pep"), "no mechanism 'pep'; did you mean 'pepsal' or 'satpep'?"),
        (("path", "codl"), "did you mean 'codel'?"),
        # The successor of BBRv2, and what it is derived from: both are one slip away.
        (("controllers", "bbr2"), "no controller 'bbr2'; did you mean 'bbr3' or 'bbr'?"),
        (("compare", "--link", "leo", "--controllers", "bbr2"), "did you mean 'bbr3' or 'bbr'?"),
        (("evaluate", "bbr2"), "did you mean 'bbr3' or 'bbr'?"),
        (("new", "geo", "--controller", "bbr2"), "did you mean 'bbr3' or 'bbr'?"),
        (("transports", "scps"), "did you mean 'scps-tp'?"),
        (("compare", "--link", "leo", "--transports", "quick"), "did you mean 'quic'?"),
        (("controllers", "xyzzy"), " valid names, such as "),
        (("controllers", "CUBIC"), "no controller 'CUBIC'; did you mean 'cubic'?"),
        (("papers", "list", "ADALR"), "there is no paper 'ADALR'; did you mean 'adalr'?"),
        (("run", "x.toml", "--duration", "5s"), "expected --set duration=..., which sets"),
        (("explain", "x.toml", "--rate", "5Mbit/s"), "expected --set link.0.rate=..."),
        (("compare", "--link", "leo", "--duration", "9s"), "expected --set duration=..."),
        (("runn",), "No such command 'runn'; did you mean 'run'?"),
        (("controllers", "logwest"), "no controller 'logwest'; did you mean 'logwestwood-plus'?"),
        (("papers", "list", "adlr"), "there is no paper 'adlr'; did you mean 'adalr'?"),
    ],
)
def test_a_wrong_name_is_answered_with_those_that_are_meant(
    bentpipe: Bentpipe, command: tuple[str, ...], expected: str
) -> None:
    done = bentpipe(*command)
    assert done.returncode == 2
    assert expected in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["zzz", "ftp/rtt/nothing/like/this", "xyzzy"])
def test_a_wrong_statement_is_answered_with_five_names_at_most(
    bentpipe: Bentpipe, name: str
) -> None:
    done = bentpipe("papers", "explain", name)
    assert done.returncode == 2
    message = " ".join(done.stderr.split())
    assert f"there is no statement '{name}'" in message
    known = [
        one["id"]
        for paper in json.loads(bentpipe("papers", "list", "--json").stdout)["papers"]
        for one in json.loads(bentpipe("papers", "list", paper["paper"], "--json").stdout)[
            "statements"
        ]
    ]
    words = re.split(r"[\s,'?]+", message)
    assert 1 <= len(set(words) & set(known)) <= 5


def test_the_statements_of_a_paper_are_listed(bentpipe: Bentpipe) -> None:
    listed = bentpipe("papers", "list", "adalr")
    assert listed.returncode == 0
    (statement, *_) = json.loads(bentpipe("papers", "list", "adalr", "--json").stdout)["statements"]
    assert statement["id"] in listed.stdout
    assert bentpipe("papers", "explain", statement["id"]).returncode == 0


def test_a_wrong_controller_in_a_file_is_answered_like_one_of_a_command(
    bentpipe: Bentpipe, small: Path
) -> None:
    done = bentpipe("run", small, "--set", "flow.0.controller=bbr2")
    assert done.returncode == 2
    assert 'did you mean "bbr3" or "bbr"?' in done.stderr
