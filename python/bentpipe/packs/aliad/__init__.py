"""TCP-ADaLR."""
