"""Seals: by which a saved solution shows that this user has solved it here, from this very text.

A seal is a keyed hash of a sketch's text. The key is the user's own, made when it is first needed and never sent
anywhere. So a Python file that a stranger's solution names is not run, and one's own is, for as long as it stays as it
was.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

VARIABLE: Final = "SWIZZLE_STATE_DIR"
_KEY_BYTES: Final = 32


def seal(text: str) -> str:
    """Return the seal of a text that is run here now, '' where no key can be kept."""
    key = _key(make=True)
    return _sealed(key, text) if key else ""


def is_sealed(text: str, claimed: object) -> bool:
    """Tell whether a seal is this user's, and of this text."""
    key = _key(make=False)
    return bool(key) and isinstance(claimed, str) and hmac.compare_digest(_sealed(key, text).encode(), _bytes(claimed))


def digest(text: str) -> str:
    return hashlib.sha256(_bytes(text)).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _sealed(key: bytes, text: str) -> str:
    return hmac.new(key, b"sketch\0" + _bytes(text), hashlib.sha256).hexdigest()


def _folder() -> Path | None:
    """Return the folder of the key, by the platform's convention; None without a home."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the convention: a relative path is to be ignored
        base = os.environ.get("LOCALAPPDATA", "") if sys.platform == "win32" else ""
    if not base:
        with suppress(RuntimeError):
            home = Path.home()
            base = str(home / ("Library/Application Support" if sys.platform == "darwin" else ".local/state"))
    return Path(base) / "swizzle" if os.path.isabs(base) else None


def _key(*, make: bool) -> bytes:
    """Return the user's key; without one, make it or return nothing."""
    folder = _folder()
    if folder is None:
        return b""
    file = folder / "key"
    with suppress(OSError):
        if not file.exists() and make:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            mine = folder / f".key.{secrets.token_hex(8)}"
            with os.fdopen(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
                new.write(secrets.token_bytes(_KEY_BYTES))
            try:
                with suppress(FileExistsError):  # another process was faster: its key counts
                    os.link(mine, file)
            finally:
                mine.unlink()
        key = file.read_bytes()
        return key if len(key) == _KEY_BYTES else b""
    return b""
