"""Controllers driven with measured connections: `bentpipe replay`."""
