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
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

VARIABLE: Final = "SWIZZLE_STATE_DIR"
_KEY_BYTES: Final = 32


def seal(text: str) -> str:
    """Return the seal of a text that is run here now, '' where no key can be kept."""
    return signature("sketch", text, make=True)


def signature(kind: str, text: str, *, make: bool = False) -> str:
    """Return what only this user can say of a text of some kind, '' without a key, which is made if asked for."""
    key = _key(make=make)
    return hmac.new(key, f"{kind}\0".encode() + _bytes(text), hashlib.sha256).hexdigest() if key else ""


def is_sealed(text: str, claimed: object) -> bool:
    """Tell whether a seal is this user's, and of this text."""
    return is_signed("sketch", text, claimed)


def is_signed(kind: str, text: str, claimed: object) -> bool:
    """Tell whether a signature is this user's, and of this text of that kind."""
    own = signature(kind, text)
    return bool(own) and isinstance(claimed, str) and hmac.compare_digest(own.encode(), _bytes(claimed))


def digest(text: str) -> str:
    return hashlib.sha256(_bytes(text)).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


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
        return _read(file)
    return b""


def _read(file: Path) -> bytes:
    """Return the key of a file that nobody else can read or write, b"" of any other."""
    with os.fdopen(
        os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)), "rb"
    ) as own:
        status = os.fstat(own.fileno())
        others = hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o077)
        key = b"" if others or not stat.S_ISREG(status.st_mode) else own.read(_KEY_BYTES + 1)
    return key if len(key) == _KEY_BYTES else b""
