"""Dependencies: which folder may include which, each library in one .cc file, and no clocks, randomness, environment,
sleeps or threads in core and plugins."""

import re

from source import Finding, line_of, masked, room

MAY_INCLUDE = {
    "core": {"core"},
    "plugins": {"core", "plugins"},
    "storage": {"core", "storage"},
    "transports": {"core", "transports"},
    "firmware-host": {"core", "plugins", "storage", "transports", "firmware-host"},
    "cross": {"core"},
    "tests": {"core", "plugins", "storage", "transports", "firmware-host", "tests"},
}
ONE_HOME = ("mosquitto.h", "sqlite3.h", "cJSON.h", "http_parser.h")
THREADS = {"thread", "mutex", "shared_mutex", "future", "condition_variable", "semaphore", "latch", "barrier",
           "stop_token", "pthread.h", "threads.h"}
PURE = ("core", "plugins")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)

THREAD_USE = re.compile(r"\bstd::(?:jthread|thread|async|mutex|shared_mutex|recursive_mutex|timed_mutex|lock_guard|"
                        r"unique_lock|scoped_lock|condition_variable\w*|promise|packaged_task)\b|\bpthread_\w+")
IMPURE = (
    (re.compile(r"\b(?:system_clock|steady_clock|high_resolution_clock|utc_clock)\b"), "reads a clock",
     "take a Clock& (core/clock.h)"),
    (re.compile(r"\b(?:clock_gettime|gettimeofday|timespec_get|localtime\w*|gmtime\w*|strftime|mktime)\s*\("),
     "reads a clock", "take a Clock& (core/clock.h)"),
    (re.compile(r"\b(?:srand|rand|rand_r|random|srandom|drand48|getrandom|getentropy|arc4random\w*)\s*\("),
     "takes a random number", "take a Random& (core/random.h)"),
    (re.compile(r"\b(?:random_device|mt19937\w*|default_random_engine|minstd_rand\w*)\b"), "takes a random number",
     "take a Random& (core/random.h)"),
    (re.compile(r"\b(?:getenv|secure_getenv|setenv|putenv)\s*\("), "reads the environment",
     "let firmware-host read it and pass the value in a config struct"),
    (re.compile(r"\b(?:usleep|nanosleep|sleep_for|sleep_until|sleep)\s*\("), "sleeps", "use Timers (core/timers.h)"),
    (re.compile(r"\b(?:time|clock)\s*\("), "reads a clock", "take a Clock& (core/clock.h)"),
)
WORD_BEFORE = re.compile(r"([\w>&*]+)\s+$")
STATEMENT_WORDS = {"return", "co_return", "co_yield", "else", "do", "case", "throw"}


def library(name):
    return name.rsplit("/", 1)[-1]


# A stand-alone example project to copy out of the tree: its files include each other by relative path.
OWN_PROJECT = "tests/integration/own_plugin/"


def check_include(path, line, quote, name):
    here = room(path)
    if quote == '"' and str(path).startswith(OWN_PROJECT) and "/" not in name:
        return
    if quote == '"':
        there = room(name)
        if there not in MAY_INCLUDE:
            yield Finding(path, line, f'include "{name}" is not a path from the root of the tree; write it like '
                                      '"core/status.h"')
        elif there not in MAY_INCLUDE.get(here, {there}):
            yield Finding(path, line, f"{here} may not include {there}; allowed: "
                                      f"{', '.join(sorted(MAY_INCLUDE[here]))}. Define an interface in core, or move the code")
        return
    asio = name == "asio.hpp" or name.startswith(("asio/", "boost/"))
    if library(name) in ONE_HOME and path.endswith(".h"):
        yield Finding(path, line, f"{library(name)} in a header; include it in its one .cc file only and forward-declare its structs")
    if asio and path.endswith(".h"):
        yield Finding(path, line, "Asio in a header adds 4 to 20 s to the compile time of every includer; include it "
                                  "in a .cc file, behind a std::unique_ptr<Impl>")
    if here == "tests":
        return
    if name in THREADS:
        yield Finding(path, line, f"<{name}>: the daemon is single-threaded; do the work in the event loop")
    if here in PURE and (asio or (name.endswith(".h") and library(name) != "cJSON.h") or "/" in
                         name.removesuffix("cjson/cJSON.h")):
        yield Finding(path, line, f"{here} includes <{name}>; it may use only the C++ standard library and {here}'s "
                                  "own headers: define an interface in core and implement it elsewhere")
    if here in PURE and name in ("chrono", "random", "fstream", "filesystem"):
        yield Finding(path, line, f"{here} includes <{name}>; use the interfaces Clock, Random or Store instead")


def is_call(text, start):
    """Whether this is a call of a free function: neither a member (x.time(), x->time()) nor a declaration (Millis time())."""
    before = text[:start].rstrip(" \t")
    if before.endswith((".", "->", "~")):
        return False
    if before.endswith("::"):
        scope = re.search(r"([\w>]*)\s*::$", before).group(1)
        return scope in ("", "std", "this_thread", "chrono")
    word = WORD_BEFORE.search(text[max(0, start - 80):start])
    return not word or word.group(1) in STATEMENT_WORDS or not re.match(r"[\w>&*]*[\w>]$|[\w>]+[&*]$", word.group(1))


def check_tokens(path, text):
    here = room(path)
    if here == "tests":
        return
    for match in THREAD_USE.finditer(text):
        yield Finding(path, line_of(text, match.start()),
                      f"{match.group(0)}: threads and mutexes are not allowed; do the work in the event loop")
    if here not in PURE:
        return
    for pattern, what, instead in IMPURE:
        for match in pattern.finditer(text):
            if match.group(0).endswith("(") and not is_call(text, match.start()):
                continue
            yield Finding(path, line_of(text, match.start()),
                          f"{match.group(0).rstrip('( ')} {what}, which is not allowed in {here}; {instead}")


def check(tree):
    homes = {}
    for path in tree.cpp():
        code = masked(tree.text(path), keep_includes=True)
        for match in INCLUDE.finditer(code):
            line = line_of(code, match.start())
            yield from check_include(path, line, *match.groups())
            if library(match.group(2)) in ONE_HOME and path.endswith(".cc") and room(path) != "tests":
                homes.setdefault(library(match.group(2)), []).append((path, line))
        yield from check_tokens(path, masked(tree.text(path)))
    for name, users in sorted(homes.items()):
        for path, line in users[1:]:
            yield Finding(path, line, f"{name} is already included in {users[0][0]}; only one .cc file may include it: call that")
