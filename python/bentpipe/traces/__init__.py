"""Measurements of paths, and traces that links read: `bentpipe trace`."""
