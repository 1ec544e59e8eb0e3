"""`python -m graspd` is `graspd`."""

from graspd.cli import main

main()
