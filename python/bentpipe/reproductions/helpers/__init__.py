"""A survey of what helps on the way."""
