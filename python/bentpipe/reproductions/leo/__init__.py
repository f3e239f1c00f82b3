"""Published and measured results of paths over low orbits."""
