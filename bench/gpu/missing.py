"""Why a contender takes no part."""

from __future__ import annotations


class Missing(Exception):
    """A contender is not there; the message is the reason, for the table."""
