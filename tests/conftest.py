"""What all tests share: properties are about what is true, not about how fast this machine finds it out."""

from hypothesis import settings

settings.register_profile("graspd", deadline=None)
settings.load_profile("graspd")
