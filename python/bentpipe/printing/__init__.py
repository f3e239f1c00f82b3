"""What the command line prints: totals of a recording, and entries of lists."""
