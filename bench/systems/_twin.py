"""A system's class with the options of another system that uses it too."""

from collections.abc import Callable
from typing import Any


def with_options(kind: type[Any], translate: Callable[[Any], Any]) -> type[Any]:
    """Return a subclass of a ``Client`` or ``Wire``; ``translate`` makes its system's options of those it is given."""

    class Twin(kind):
        __doc__ = kind.__doc__

        def __init__(self, address: str, options: Any) -> None:
            super().__init__(address, translate(options))

    return Twin
