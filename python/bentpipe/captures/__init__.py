"""The TCP connections of captures: tables, figures, a page, and the comparison with a run."""
