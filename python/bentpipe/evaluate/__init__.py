"""The check-list of RFC 9743 (BCP 133) for a congestion controller, as a report that runs.

`checklist` is the items as data, with scenarios in `scenarios/`; `items` runs one, `findings` puts
what it measured beside the baselines, `tables` and `command` are what people see.
"""
