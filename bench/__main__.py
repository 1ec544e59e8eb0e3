"""The one entry: `python -m bench NAME [options]` runs `bench/NAME.py:main`.

It decides only which module runs. The others are read, not imported, for the list of names, so that a benchmark whose
dependencies are missing never stops another.
"""

import ast
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent


def summary_by_name() -> dict[str, str]:
    """The first docstring line of every module beside this one that defines `main`."""
    found: dict[str, str] = {}
    for path in sorted(HERE.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        has_main = any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)
        if has_main and path.stem != "__main__":
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main(argv: list[str]) -> int:
    """Run the benchmark named first in `argv` with the rest as its options."""
    known = summary_by_name()
    if argv and argv[0] in known:
        return int(importlib.import_module(f"bench.{argv[0]}").main(argv[1:]))
    print("usage: python -m bench NAME [options]   (NAME --help lists a benchmark's options)\n")
    width = max(map(len, known), default=0)
    for name, summary in known.items():
        print(f"  {name:<{width}}  {summary}")
    asked_for_help = not argv or argv[0] in ("-h", "--help")
    if not asked_for_help:
        print(f"\nno benchmark is called {argv[0]!r}", file=sys.stderr)
    return 0 if asked_for_help else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
