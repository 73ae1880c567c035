"""A system whose library is not installed."""

import a_library_that_is_not_installed  # noqa: F401

TRANSPORTS = ("tcp",)
REQUIRES = ("a-library-that-is-not-installed",)
