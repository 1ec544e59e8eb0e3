"""The shell around proactive sync: links to peers, the address guard, the own relay, what outlives the process.

Decisions are made in sync/. Here its effects are performed and what came of them is told to it.
"""
