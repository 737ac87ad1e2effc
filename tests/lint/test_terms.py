"""Dialect that standard terms have replaced."""

import pytest
import terms


def found(tree, files):
    return [(finding.path, finding.line) for finding in terms.check(tree(files))]


@pytest.mark.parametrize("phrase", [
    "the operator's word", "a retained word", "words of operators", "the last word", "a string is wanted", "names are wanted",
    "wanted a string, found 3", "its place in the queue", "starts anew", "the grant of a claim", "its surroundings",
    "a pod's journey", "core/scheduler/board.h", "tells the board", "greets the broker", "pumps the loop", "doomed volumes",
    "sum of its charges", "overtaken by the api", "what is owed", "behind the fence", "for want of room", "there is no room",
    "with room again", "good no more", "who changes his gets a copy", "told of once", "says more than is heard"])
def test_dialect(tree, phrase):
    assert found(tree, {"core/a.cc": f"int a;\n// So {phrase} it is.\n"}) == [("core/a.cc", 2)]
    assert found(tree, {"core/a.cc": f'\nconst char* kText = "{phrase}";\n'}) == [("core/a.cc", 2)]
    assert found(tree, {"core/a.cc": "", "tests/a.py": f'x = 1  # {phrase}\n', "tests/b.py": f'"""So\n{phrase}"""\n'}) == [
        ("tests/a.py", 1), ("tests/b.py", 2)]
    assert found(tree, {"core/a.cc": "", "tests/a.py": "", "tests/b.py": "", "a/README.md": f"\n{phrase}\n"}) == [
        ("a/README.md", 2)]


def test_a_phrase_over_the_end_of_a_line(tree):
    assert found(tree, {"core/a.cc": "// kept is an operator's\n// word; a retained\n\nint word;\n"}) == [("core/a.cc", 1)]
    assert found(tree, {"core/a.cc": "", "a.md": "for want of\nroom\n"}) == [("a.md", 1)]


@pytest.mark.parametrize("text", [
    'store.put(Table::meta, "doomed", x);  // terminating\n',  # stored under an old name
    'constexpr auto kRecords = "overtaken/";\n',
    'json.set("fence", 1); topic = "gateways/g/fence";\n',
    "int anew, owed, fence, journey, grant, charges;  // names in code\n",
    '#include "core/scheduler/board.h"\n',
    "// each room has a README; one word of 64 bits; the board decides by its jumper; fencing by epochs\n",
    'uid + "-anew"\n',  # part of a name
    "// it wanted none; the charge of a battery; messages overtake each other; take the place of\n",
])
def test_what_is_no_dialect(tree, text):
    assert found(tree, {"core/a.cc": text}) == []


def test_names_in_python_are_not_looked_at(tree):
    assert found(tree, {"tests/a.py": 'grant = f"{grant[0]}"\nfence(anew, owed)\n', "tests/a.txt": "anew"}) == []
