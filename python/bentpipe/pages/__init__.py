"""Pages: import of HTTP archives, and the waterfall of a load."""
