"""A world in which graspd can be run without a clock, a disk or a network. A program, not a test."""
