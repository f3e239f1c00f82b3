"""TCP over satellite, several sessions per link."""
