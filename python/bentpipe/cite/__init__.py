"""Citations: the bibliography and the methods paragraph of a scenario, a study or its results.

`references.toml` is the bibliography, by the names of the registry. `used` finds the things that a
scenario uses, `work` reads files and folders, `methods` writes the paragraph, `bibtex` the entries.
"""
