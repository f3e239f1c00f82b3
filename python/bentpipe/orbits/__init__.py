"""Paths over satellites that move: tables, figures and files of `bentpipe orbit`."""
