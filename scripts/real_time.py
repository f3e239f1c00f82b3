"""The Rust tests that run in real time, for the scripts that run tests."""

from __future__ import annotations

REAL_TIME = (
    "((package(proxy) or package(testbed)) and kind(test))"
    " or (package(testbed) and test(/^lab::tests::/))"
)
"""In the language of nextest: tests with real kernels and processes, and those that time pings,
which a busy machine would delay."""
