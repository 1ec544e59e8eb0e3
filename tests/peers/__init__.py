"""Real relays as subprocesses: ours and those of other makes, for integration tests and benchmarks."""
