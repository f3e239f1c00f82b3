"""A site of our own, a server and a real browser for `benches/browser.py`."""
