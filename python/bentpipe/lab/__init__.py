"""The live page: a scenario whose sliders run it again, on this machine only (docs/lab.md)."""
