"""The arrows between the rooms of core."""

import rooms

README = "# core\n\n```rooms\njson\napi -> json\nqueue -> api, json\n```\n"
FILES = {
    "core/status.h": "",
    "core/json/json.h": '#include "core/status.h"\n',
    "core/api/pod.h": '#include "core/json/json.h"\n#include "core/api/node.h"\n',
    "core/api/node.h": "#include <vector>\n",
    "core/queue/queue.cc": '#include "core/api/pod.h"\n// #include "core/cache/cache.h"\n#include "core/json/json.h"\n',
    "plugins/fit.h": '#include "core/queue/queue.h"\n',
}


def messages(tree, files, readme=README):
    return [str(finding) for finding in rooms.check(tree(FILES | {"core/README.md": readme} | files))]


def test_includes_along_the_arrows_pass(tree):
    assert messages(tree, {}) == []


def test_an_include_without_an_arrow_is_found(tree):
    (found,) = messages(tree, {"core/api/names.h": '\n#include "core/queue/queue.h"\n'})
    assert found.startswith("core/api/names.h:2: ") and "api may not include queue" in found


def test_a_seam_includes_no_room(tree):
    (found,) = messages(tree, {"core/status.h": '#include "core/json/json.h"\n'})
    assert found.startswith("core/status.h:1: ") and "a seam may not include a room" in found


def test_an_arrow_that_nobody_uses_is_found(tree):
    (found,) = messages(tree, {"core/queue/queue.cc": '#include "core/api/pod.h"\n'})
    assert found.startswith("core/README.md:6: queue -> json: no file needs this arrow")


def test_a_circle_is_found(tree):
    files = {"core/json/json.h": '#include "core/queue/queue.h"\n'}
    (found,) = messages(tree, files, README.replace("json\napi", "json -> queue\napi"))
    assert "in a circle: api -> json -> queue -> api" in found


def test_the_list_names_every_room(tree):
    (found,) = messages(tree, {"core/cache/cache.h": ""})
    assert "core/cache is missing in the list" in found


def test_the_list_names_no_other_rooms(tree):
    (found,) = messages(tree, {}, README.replace("api -> json\n", "api -> json\ncache\n"))
    assert found.startswith("core/README.md:6: core/cache does not exist")
    found = messages(tree, {}, README.replace("queue -> api, json", "queue -> api, json, cache"))
    assert any("queue -> cache: cache has no line of its own" in message for message in found)


def test_a_list_that_cannot_be_read_is_found(tree):
    assert "no list of rooms" in messages(tree, {}, "# core\n")[0]
    assert any('"queue: api" is no line' in m for m in messages(tree, {}, README.replace("queue ->", "queue: api\nqueue ->")))
    assert any("api has a line already" in m for m in messages(tree, {}, README.replace("queue ->", "api -> json\nqueue ->")))
