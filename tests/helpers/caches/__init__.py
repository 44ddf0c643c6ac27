"""Caches as people write them: three right ones, and the one of the interviews."""
