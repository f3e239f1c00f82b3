"""Published results of QUIC over satellites."""
