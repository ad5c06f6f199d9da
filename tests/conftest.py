"""What all tests share: Python's garbage collector rests while tests are collected, which takes half as long so."""

import gc

gc.disable()


def pytest_collection_finish() -> None:
    """What was collected stays, so the collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.enable()
