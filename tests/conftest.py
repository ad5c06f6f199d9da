"""What all tests share: Python's garbage collector rests while tests are collected, which takes half as long so.

And no test of properties fails because the machine is busy: how long its examples take to make says nothing.
"""

import gc

from hypothesis import HealthCheck, settings

gc.disable()
settings.register_profile("busy", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def pytest_collection_finish() -> None:
    """What was collected stays, so the collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.enable()
