"""Transport protocols: their list, and keys of one given to another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Bentpipe


def test_all_transports_are_listed_with_source_status_and_keys(bentpipe: Bentpipe) -> None:
    listed = json.loads(bentpipe("transports", "--json").stdout)["transports"]
    assert "tcp" in [one["name"] for one in listed]
    assert all(one["source"] and one["status"] and one["parameters"] for one in listed)
    assert all("simulator" in one["backends"] for one in listed)
    printed = bentpipe("transports").stdout
    assert all(one["name"] in printed for one in listed)


def test_one_transport_is_described_with_its_keys(bentpipe: Bentpipe) -> None:
    printed = bentpipe("transports", "tcp").stdout
    assert "RFC 9293" in printed
    assert "receive_buffer" in printed
    assert "4MiB" in printed


def test_a_wrong_name_is_answered_with_the_nearest(bentpipe: Bentpipe) -> None:
    done = bentpipe("transports", "tpc")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'tcp'" in done.stderr
