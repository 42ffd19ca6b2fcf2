"""Solids of finite elements among grains."""
