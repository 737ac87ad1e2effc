"""The dependency rule rejects forbidden includes and calls, and accepts permitted ones."""

import includes
import pytest

REJECTED = [
    ("core/a.cc", '#include "storage/sqlite.h"', "core may not include storage"),
    ("plugins/a.cc", '#include "transports/mqtt.h"', "plugins may not include transports"),
    ("storage/a.cc", '#include "plugins/fit.h"', "storage may not include plugins"),
    ("transports/a.h", '#include "firmware-host/loop.h"', "transports may not include firmware-host"),
    ("core/a.cc", '#include "status.h"', "not a path from the root"),
    ("core/a.cc", "#include <asio.hpp>", "only the C++ standard library"),
    ("core/a.cc", "#include <unistd.h>", "only the C++ standard library"),
    ("plugins/a.cc", "#include <sys/stat.h>", "only the C++ standard library"),
    ("core/a.cc", "#include <chrono>", "use the interfaces"),
    ("transports/a.h", "#include <mosquitto.h>", "in a header"),
    ("core/api/a.h", "#include <cjson/cJSON.h>", "in a header"),
    ("firmware-host/a.h", "#include <asio/io_context.hpp>", "Asio in a header"),
    ("tests/sim/a.h", "#include <asio.hpp>", "Asio in a header"),
    ("firmware-host/a.cc", "#include <thread>", "single-threaded"),
    ("storage/a.cc", "std::mutex m;", "threads and mutexes are not allowed"),
    ("firmware-host/a.cc", "auto f = std::async(g);", "threads and mutexes are not allowed"),
    ("core/a.cc", "auto t = std::chrono::steady_clock::now();", "reads a clock"),
    ("core/agent/a.cc", "auto t = time(nullptr);", "reads a clock"),
    ("core/a.cc", "return std::time(nullptr);", "reads a clock"),
    ("plugins/a.cc", "int r = rand();", "takes a random number"),
    ("plugins/a.cc", "std::random_device device;", "takes a random number"),
    ("core/a.cc", 'if (getenv("X")) f();', "reads the environment"),
    ("core/a.cc", 'const char* x = std::getenv("X");', "reads the environment"),
    ("core/a.cc", "usleep(5);", "sleeps"),
]

ACCEPTED = [
    ("core/a.cc", '#include "core/status.h"\n#include <vector>\n#include <cjson/cJSON.h>'),
    ("plugins/a.cc", '#include "core/status.h"\n#include "plugins/fit.h"'),
    ("firmware-host/a.cc", '#include "storage/sqlite.h"\n#include <asio.hpp>\n#include <unistd.h>'),
    ("tests/unit/a_test.cc", '#include "storage/sqlite.h"\n#include <sqlite3.h>\n#include <thread>'),
    ("storage/a.cc", "#include <sqlite3.h>\nauto t = time(nullptr);"),
    ("core/a.cc", "Millis t = clock.time();\nMillis time() const;\nrow->time(3);"),
    ("core/a.cc", '// time(nullptr), #include <thread>\nlog("getenv(x) rand()");'),
    ("core/a.cc", "std::optional<Millis> time() const;\nconst Entry* random(int n);"),
    ("core/a.cc", "Millis Clock::time() const { return 0; }"),
]


@pytest.mark.parametrize("path, text, expected", REJECTED)
def test_rejects(tree, path, text, expected):
    messages = [finding.message for finding in includes.check(tree({path: text}))]
    assert any(expected in message for message in messages), messages


@pytest.mark.parametrize("path, text", ACCEPTED)
def test_accepts(tree, path, text):
    assert list(includes.check(tree({path: text}))) == []


def test_a_library_is_included_in_one_file_only(tree):
    files = {"storage/a.cc": "#include <sqlite3.h>", "storage/b.cc": "#include <sqlite3.h>"}
    (finding,) = includes.check(tree(files))
    assert finding.path == "storage/b.cc" and "is already included in storage/a.cc" in finding.message
