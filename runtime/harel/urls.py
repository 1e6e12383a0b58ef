"""URLs of stores and services: read in one place, and never printed with their password (edges.md, Values).

It knows no backend and opens nothing.
"""

from __future__ import annotations

import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)")
_SECRET = re.compile(r"(?i)((?:^|[?&;\s])[a-z_-]*(?:password|passwd|pwd|secret|token|sslkey)[a-z_-]*=)[^&;\s]*")


def scheme_of(url: str) -> str:
    """The scheme in lower case; "" where the text is no URL but a path."""
    found = _SCHEME.match(url)
    return found.group().lower() if found else ""


def shown(url: str) -> str:
    """The URL as it may be printed: `scheme://user:***@host/name`; secrets among its parameters are hidden too."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return _SECRET.sub(r"\1***", url)
    # A password may hold `/`, `?`, `#` or `@` that nobody escaped, so that the last `@` counts.
    credentials, at, place = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    hidden = f"{user}{colon}{'***' if colon else ''}{at}" if at else ""
    place = _SECRET.sub(r"\1***", place)
    return f"{scheme}://{hidden}{place}"
