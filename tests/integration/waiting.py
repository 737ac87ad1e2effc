"""Waiting for events, never for a time: conditions with a deadline that is generous to a busy machine."""

import os
import time

DEADLINE_S = 30.0


def patience(seconds=None):
    """The deadline to use: BERTH_TEST_PATIENCE multiplies all of them (emulators, sanitizers)."""
    return (DEADLINE_S if seconds is None else seconds) * float(os.environ.get("BERTH_TEST_PATIENCE", "1"))


def wait_until(condition, what, timeout_s=None):
    """Asks until condition() is true and returns its value. `what` completes "waited in vain for ..."; an
    AssertionError of the condition counts as not yet, and is told at the deadline."""
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
            raise AssertionError(f"waited in vain for {what} ({limit:.0f} s)" + (f": {last}" if last else ""))
        time.sleep(0.01)  # between two questions; nothing depends on its length
