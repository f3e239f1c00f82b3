"""`python -m bentpipe` is the command line."""

from bentpipe.cli import main

main()
