"""What ends a run: something that must always hold did not."""


class Violation(Exception):
    """`checker` is the line of what must always hold; `what` says in one line how it was broken."""

    def __init__(self, checker: str, what: str) -> None:
        super().__init__(f"{checker}: {what}")
        self.checker = checker
        self.what = what
