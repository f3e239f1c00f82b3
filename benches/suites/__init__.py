"""Suites of `make fidelity`, by name, and groups of them."""

from suites import geo, hosts, iperf

SUITES = geo.SUITES | hosts.SUITES

OF_PROGRAMS = {"hosts-iperf3": iperf}
"""Modules that compare a program of its own with the simulator."""

GROUPS = {"hosts": (*hosts.SUITES, *OF_PROGRAMS)}
"""Names that stand for several suites."""
