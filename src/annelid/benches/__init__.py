"""Throughput on this machine, one file each: `annelid bench NAME`."""
