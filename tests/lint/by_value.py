"""No header declares a parameter that is an optional number of 64 bits by value.

Tests are compiled by clang, what they test by GCC (tests/clang.cmake). On armhf the two pass such an object in other registers:
clang takes the alignment of a class's own members (AAPCS32, natural alignment), and std::optional has its value in a base class.
"""

import re

from source import Finding, line_of, masked, room

PARAMETER = re.compile(r"[(,]\s*(?:const\s+)?std::optional<\s*(?:Millis|std::u?int64_t|double)\s*>\s+(\w+)\s*(?=[,)=])")


def check(tree):
    for path in tree.cpp():
        if room(path) == "tests" or not path.endswith(".h"):
            continue
        text = masked(tree.text(path))
        for found in PARAMETER.finditer(text):
            yield Finding(path, line_of(text, found.start(1)),
                          f"{found.group(1)} is passed otherwise by clang than by GCC on armhf; pass it by const reference")
