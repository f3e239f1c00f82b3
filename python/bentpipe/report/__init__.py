"""One self-contained HTML page from a folder of results.

`source` recognises and reads a folder. `run`, `study`, `reproductions`, `compare` and `evaluate`
turn it into a page of sections. `render` writes the page with its figures. Nothing is run.
"""
