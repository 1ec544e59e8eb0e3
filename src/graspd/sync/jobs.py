"""The word for work that the shell does for the engine and answers under the same number."""

from typing import NewType

JobId = NewType("JobId", int)
