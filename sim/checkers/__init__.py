"""What must always hold, one line of design a file. Each watches our side from outside and raises a Violation.

Checkers read what the engine is told and asks for, what our store holds and what the peers hold; never the inside of
the engine. That the same seed gives the same trace is checked by running twice, not here.
"""
