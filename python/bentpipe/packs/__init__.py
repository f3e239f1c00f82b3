"""The paper packs: one folder for each paper."""
