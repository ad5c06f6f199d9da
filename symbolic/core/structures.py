"""Tuples and records, which are dataclasses, taken apart and put together again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any


def is_record(value: Any) -> bool:
    """Tell whether a value is an instance of a frozen dataclass; symbolic values are none, although made as one."""
    return has_fields(value) and bool(type(value).__dataclass_params__.frozen)


def has_fields(value: Any) -> bool:
    """Tell whether a value is an instance of a dataclass of the user's, frozen or not."""
    return hasattr(type(value), "__dataclass_params__") and not type(value).__module__.startswith("symbolic.")


def fields_of(record: Any) -> dict[str, Any]:
    """Return a record's fields."""
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def record(kind: type, fields: dict[str, Any]) -> Any:
    """Return a record with these fields as they are: its class had its say when the first of them was made."""
    made: Any = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a tuple or record with the function applied to what is in it; any other value as it is."""
    if isinstance(value, tuple):
        items = [function(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return tuple(items) if type(value) is tuple else type(value)(*items)  # a NamedTuple takes them one by one
    if has_fields(value):
        old = fields_of(value)
        new = {name: function(item) for name, item in old.items()}
        return record(type(value), new) if any(new[name] is not old[name] for name in old) else value
    return value
