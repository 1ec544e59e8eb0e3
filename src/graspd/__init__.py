"""graspd: a GRASP relay that goes and gets it. docs/architecture.md shows which room holds what."""

__version__ = "0.1.0"
