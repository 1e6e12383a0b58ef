"""URLs as they may be printed: never with a password (edges.md, Values)."""

from __future__ import annotations

import pytest

from harel.urls import scheme_of, shown


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("postgresql://app:s3cret@db:5432/shop", "postgresql://app:***@db:5432/shop"),
        ("redis://:s3cret@cache/0", "redis://:***@cache/0"),
        ("redis://:s3/c@r#t?@cache/0", "redis://:***@cache/0"),
        ("postgresql://app@db/shop", "postgresql://app@db/shop"),
        ("postgresql://db/shop?user=app&password=s3cret&n=1", "postgresql://db/shop?user=app&password=***&n=1"),
        ("rediss://cache?PASSWORD=s3cret", "rediss://cache?PASSWORD=***"),
        ("host=db password=s3cret dbname=shop", "host=db password=*** dbname=shop"),
        ("sqlite:///orders.db", "sqlite:///orders.db"),
        ("orders.db", "orders.db"),
    ],
)  # fmt: skip
def test_a_url_is_printed_without_its_password(url: str, printed: str) -> None:
    assert shown(url) == printed
    assert "s3" not in shown(url)


@pytest.mark.parametrize(
    ("url", "scheme"),
    [("SQLite:///a.db", "sqlite"), ("redis+cluster://x", "redis+cluster"), ("C:\\a.db", ""), ("a/b://c", ""), ("", "")],
)
def test_the_scheme_of_a_url_tells_it_from_a_path(url: str, scheme: str) -> None:
    assert scheme_of(url) == scheme
