"""Published statements about TCP over demand assignment on the return channel."""
