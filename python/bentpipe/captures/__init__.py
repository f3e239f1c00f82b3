"""The TCP connections of captures: tables, figures, and the comparison with a run."""
