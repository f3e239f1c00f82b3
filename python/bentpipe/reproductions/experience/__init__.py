"""Published results of pages, proxies and tunnels over satellites."""
