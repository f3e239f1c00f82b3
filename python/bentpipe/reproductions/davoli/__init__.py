"""Davoli, Spanò, Vignola and Zappatore's measurements over a rain-faded satellite channel."""
