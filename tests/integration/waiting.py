"""Waiting for conditions rather than for fixed times, with deadlines that suit a busy machine."""

import os
import time

DEADLINE_S = 30.0


def patience(seconds=None):
    """The deadline in seconds; BERTH_TEST_PATIENCE scales all deadlines (for emulators and sanitizers)."""
    return (DEADLINE_S if seconds is None else seconds) * float(os.environ.get("BERTH_TEST_PATIENCE", "1"))


def wait_until(condition, what, timeout_s=None):
    """Polls condition() until it is true and returns its value. `what` completes "timed out waiting for ...". An
    AssertionError raised by the condition counts as "not yet" and is reported at the deadline."""
    limit = patience(timeout_s)
    end = time.monotonic() + limit
    last = None
    while True:
        try:
            value = condition()
            if value:
                return value
            last = None
        except AssertionError as error:
            last = error
        if time.monotonic() > end:
            raise AssertionError(f"timed out waiting for {what} ({limit:.0f} s)" + (f": {last}" if last else ""))
        time.sleep(0.01)  # polling interval; no test depends on it
