"""Checks messages against transports/schema, by topic: python3 tests/integration/schema.py FILE...

Each FILE has a JSON object a line, with `topic` and `payload` (a JSON value, or the text as it was sent). Our own programs
are checked more strictly than the schemas say: a member that no schema describes is an error, though receivers must ignore it.
"""

import json
import re
import sys
from pathlib import Path

import jsonschema

FOLDER = Path(__file__).resolve().parents[2] / "transports" / "schema"
MAX_BYTES = 64 * 1024


def without_duplicates(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is given twice")
    return members


def closed(schema):
    """The schema with every object closed that lists its members and does not say that it is open."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: closed(value) for key, value in schema.items()}
    if copy.get("type") == "object" and "properties" in copy:
        copy.setdefault("additionalProperties", False)
    return copy


def members_known(schemas, kind):
    return set(schemas["$defs"].get(kind, {}).get("properties", {}))


class Schemas:
    """The schemas and the channels of asyncapi.json. `strict`: as for our own programs."""

    def __init__(self, strict=True, folder=FOLDER):
        self.document = json.loads((folder / "asyncapi.json").read_text(encoding="utf-8"))
        read = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
        self.files = {name: schema for name, schema in read.items() if "$id" in schema}
        if strict:
            self.files = {name: closed(schema) for name, schema in self.files.items()}
        self.base = self.files["common.json"]["$id"].removesuffix("common.json")
        self.store = {schema["$id"]: schema for schema in self.files.values()}
        self.validators = {}
        self.channels = [(self.pattern_(channel["address"]), *self.message_(channel), channel)
                         for channel in self.document["channels"].values()]

    def channel_of(self, topic):
        """(message, reference to its schema, channel) of a topic; None when no channel has it."""
        return next((found[1:] for found in self.channels if found[0].fullmatch(topic)), None)

    def errors(self, topic, payload):
        """What is wrong with a payload (text or bytes) on this topic; empty: nothing."""
        found = self.channel_of(topic)
        if found is None:
            return ["no channel of asyncapi.json has this topic"]
        _, reference, channel = found
        raw = payload if isinstance(payload, bytes) else payload.encode()
        if not raw:
            return [] if channel.get("x-empty-payload-clears") else ["the payload is empty"]
        if len(raw) > MAX_BYTES:
            return [f"the payload has {len(raw)} bytes"]
        if channel.get("x-bytes-behind-a-line"):
            raw = raw.partition(b"\n")[0]
        try:
            value = json.loads(raw, object_pairs_hook=without_duplicates)
        except (ValueError, RecursionError) as error:
            return [str(error)]
        return self.errors_of_value(reference, value)

    def errors_of_value(self, reference, value):
        """The same of a decoded payload and a schema, such as "request.json". Of a list each item is checked with the
        defaults that its type uses."""
        errors = self.validate_(reference, value)
        file = self.files[reference.split("#")[0]]
        if errors or not isinstance(value, dict) or "items" not in value or "list" not in file.get("$defs", {}):
            return errors
        shared = {key: member for key, member in value.items() if key != "items"}
        for index, item in enumerate(value["items"]):
            kind = "viaAName" if "via" in {**shared, **item} else item.get("type", shared.get("type"))
            used = members_known(file, kind) or members_known(file, "message")
            whole = {**{key: member for key, member in shared.items() if key in used}, **item}
            errors += [f"items[{index}]: {error}" for error in self.validate_(f"{reference}#/$defs/message", whole)]
        return errors

    def validate_(self, reference, value):
        if reference not in self.validators:
            resolver = jsonschema.RefResolver(self.base, {}, store=self.store)
            self.validators[reference] = jsonschema.Draft202012Validator({"$ref": self.base + reference},
                                                                         resolver=resolver)
        return [f"{'.'.join(map(str, error.absolute_path)) or 'payload'}: {error.message[:300]}"
                for error in self.validators[reference].iter_errors(value)]

    @staticmethod
    def pattern_(address):
        return re.compile(re.sub(r"\\{\w+\\}", "[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", re.escape(address)))

    def message_(self, channel):
        name = next(iter(channel["messages"]))
        return name, self.document["components"]["messages"][name]["payload"]["schema"]["$ref"]


def check_lines(schemas, lines, where):
    """Checks JSON lines; returns how many passed, and a text for each that did not. Equal messages are checked once."""
    passed, wrong, known = 0, [], {}
    for number, line in enumerate(lines, 1):
        message = json.loads(line)
        payload = message["payload"]
        text = payload if isinstance(payload, str) else json.dumps(payload)
        key = (message["topic"], text)
        if key not in known:
            known[key] = schemas.errors(*key)
        passed += not known[key]
        wrong += [f"{where}:{number}: {message['topic']}: {error}\n  {text[:500]}" for error in known[key]]
    return passed, wrong


def main(paths):
    schemas = Schemas()
    passed, failed = 0, 0
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            right, wrong = check_lines(schemas, lines, path)
        print(*wrong[:20], sep="\n", end="\n" if wrong else "")
        passed, failed = passed + right, failed + len(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
