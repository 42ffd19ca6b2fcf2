"""Threads and fabrics: how they lie in a solid, and how they resist."""
