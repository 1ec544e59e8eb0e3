"""The store in one SQLite file: WAL, a durable commit before any answer, one writer thread, a pool of readers.

Work goes to SQLite in bulk, a whole batch in one statement and a whole answer in one row: a statement runs without
Python's lock, and taking that lock back for every row would cost more than the row.
"""
