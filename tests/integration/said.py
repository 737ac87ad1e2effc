"""What the programs of a fleet said while a test ran has the form that transports/schema gives it."""

import functools

from broker import was_sent_by_a_test
from schema import Schemas

# What operators write is not the programs': berthctl sends the manifests and requests that it is given.
OPERATORS = ("desired", "api")


@functools.cache
def schemas():
    return Schemas()


def wrong_messages(root, messages):
    """A text for each of `messages`, (topic, payload), that one of our programs sent in a form that no schema has. What
    tests sent themselves is left out."""
    wrong = []
    for topic, payload in dict.fromkeys(messages):
        levels = topic.removeprefix(root + "/").split("/")
        if not topic.startswith(root + "/") or levels[0] in OPERATORS or levels[-1] in OPERATORS:
            continue
        if was_sent_by_a_test(topic, payload):
            continue
        text = payload.decode("utf-8", "replace")
        wrong += [f"{topic}: {error}\n  {text[:500]}" for error in schemas().errors(topic, text)]
    return wrong
