"""Fixtures that every test may use."""

from tests.kit.postgres import postgres_empty_url, postgres_server, postgres_url

__all__ = ["postgres_empty_url", "postgres_server", "postgres_url"]
