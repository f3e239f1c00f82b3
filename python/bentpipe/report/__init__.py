"""One self-contained HTML page from a folder of results.

A folder is recognised and read (`source`), becomes a page of sections (`run`, `study`,
`reproductions`, `compare`, `evaluate`), and is written with its figures (`render`). Nothing runs.
"""
