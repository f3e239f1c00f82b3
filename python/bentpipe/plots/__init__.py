"""Figures: what all of them share."""
