"""The Rust tests that run in real time, for the scripts that run tests."""

from __future__ import annotations

REAL_TIME = (
    "((package(proxy) or package(testbed)) and kind(test))"
    " or (package(testbed) and test(/^lab::tests::/))"
)
"""Tests with real kernels and processes, and tests of `lab` that measure round trips of pings to a
millisecond. An expression for the option `-E` of cargo-nextest."""
