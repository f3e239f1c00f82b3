"""One self-contained HTML page from a folder of results.

A folder is recognised and read (`source`), told as a page of sections (`run`, `study`, `reproductions`,
`compare`, `evaluate`), and written with its figures (`render`). No part of it runs anything again.
"""
