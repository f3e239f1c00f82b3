"""Suites of `make fidelity`, by name, and groups of them."""

from suites import applications, geo, hosts, iperf

SUITES = geo.SUITES | hosts.SUITES

OF_PROGRAMS = {"hosts-iperf3": iperf, "applications": applications}
"""Modules with their own runs and tables."""

GROUPS = {"hosts": (*hosts.SUITES, "hosts-iperf3")}
"""Names that stand for several suites."""
