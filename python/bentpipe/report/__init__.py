"""One self-contained HTML page from a folder of a run, a study or the paper packs.

A folder is recognised and read (`source`), told as a page of sections (`run`, `study`, `papers`),
and written with its figures (`render`, `figures`). No part of it runs anything again.
"""
