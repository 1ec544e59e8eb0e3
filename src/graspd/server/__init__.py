"""The shell around the relay: sockets, worker processes, the clock. Decisions are made in relay/ and rules/."""
