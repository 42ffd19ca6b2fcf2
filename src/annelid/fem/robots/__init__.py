"""Soft robots: a solid with actuators, effectors and obstacles; forward and inverse control."""
