"""Benchmarks: each runs our relay and another maker's under the same load, and prints both figures and their ratio."""
