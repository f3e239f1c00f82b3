"""The controllers on a user's link: which one for what, and how surely.

`links` reads the link, a preset in `links/` or a scenario of the user. `workloads` makes one study
of it for each question, `candidates` says who takes part. `outcome` and `ranking` are the
statistics, `verdict` the sentences, `tables` and `command` what people see.
"""
