"""Claims about transports made for satellites."""
