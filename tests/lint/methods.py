"""Classes of at most 40 member functions, tests aside.

Counted is what the class itself declares: constructors and operators too, each overload for itself; not what a type
nested in it declares, nor friends.
"""

import re

from source import Finding, line_of, masked, matching, room

METHODS = 40
TYPE = re.compile(r"(?<!enum )\b(?:class|struct|union)\s+(?:\[\[[^\]]*\]\]\s*)?([\w:]+)\s*(?:<[^;{}()]*>\s*)?(?:final\s*)?"
                  r"(?::(?!:)[^;{}()]*)?\{")
NESTED = re.compile(r"^\s*(?:template\s*<[^{}]*>\s*)?(?:class|struct|union|enum)\b[^()]*$")
NO_MEMBER = re.compile(r"^\s*(?:using|typedef|friend|static_assert|enum)\b")
ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
WITH_PARENS = re.compile(r"\b(?:alignas|decltype|explicit|noexcept|requires)\s*\((?:[^()]|\([^()]*\))*\)")
OPERATOR = re.compile(r"\boperator\s*(?:\(\s*\)|\[\s*\]|[^\w\s(]+|[\w:*&<>\s]+)\s*\(")
NAME_BEFORE_PAREN = re.compile(r"[\w~]\s*\((?!\s*\*)")


def is_method(head):
    """Whether a declaration, up to its ';' or body, is that of a member function."""
    head = re.sub(r"(?m)^[ \t]*#.*$", "", head)
    head = ACCESS.sub("", head)
    if NO_MEMBER.match(head):
        return False
    head = re.sub(r"^\s*template\s*<", "<", head).replace("->", "")
    if OPERATOR.search(head):
        return True
    head = WITH_PARENS.sub("", head)
    before = None
    while before != head:
        before, head = head, re.sub(r"<[^<>]*>", "", head)
    name = NAME_BEFORE_PAREN.search(head)
    return name is not None and not re.search(r"[={]", head[:name.start()])


def count_methods(body):
    """Member functions that the text between a class's braces declares."""
    count = at = start = 0
    while at < len(body):
        char = body[at]
        if char == "(":
            at = matching(body, at)
        elif char == ";":
            count += is_method(body[start:at])
            start = at + 1
        elif char == "{":
            head = ACCESS.sub("", body[start:at])
            close = matching(body, at)
            if is_method(head):
                # A constructor's initialisers in braces come before its body.
                while re.search(r"\)\s*:(?!:)", head) and re.match(r"\s*(?:,\s*[\w:<>]+\s*[({]|\{)", body[close + 1:]):
                    close = matching(body, body.index("{", close + 1))
                count += 1
                start = close + 1
            elif NESTED.match(head):
                start = close + 1
            at = close
        at += 1
    return count


def check(tree):
    for path in tree.cpp():
        if room(path) == "tests":
            continue
        text = masked(tree.text(path))
        for head in TYPE.finditer(text):
            brace = head.end() - 1
            count = count_methods(text[brace + 1:matching(text, brace)])
            if count > METHODS:
                yield Finding(path, line_of(text, head.start()),
                              f"{head.group(1)} has {count} member functions, at most {METHODS}; give each of its "
                              "concerns a class of its own")
