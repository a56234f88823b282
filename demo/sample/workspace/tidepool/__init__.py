"""Tides for small harbours, offline."""

__version__ = "0.1.0"
