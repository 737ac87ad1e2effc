"""One term for one thing: dialect of this tree that standard terms have replaced, and that may not come back.

Looked for in comments and string literals of C++, in comments and strings of Python, and in pages; names in code are not
looked at. A phrase counts across the end of a line. What is stored or sent under an old name keeps it.
"""

import io
import re
import tokenize

from source import CPP, Finding, line_of, spoken

EXEMPT = ("tests/lint/terms.py", "tests/lint/test_terms.py")
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?://+|#|\*)?[ \t]*)"  # between two words of a phrase
WHOSE = (r"(?:retained|older|old|earlier|newer|newest|later|latest|own|superseded|withdrawn|unretained|operators?['’]s?|"
         r"owner['’]s|broker['’]s|gateway['’]s|node['’]s|device['’]s|runtime['’]s)")

# (pattern, what is meant, the term to use). A blank stands for any space between words.
TERMS = tuple((re.compile(pattern.replace(" ", GAP), re.I), said, instead) for pattern, said, instead in (
    (rf"\b{WHOSE} words?\b|\blast word\b|\bwords? of (?:an |the )?(?:operators?|broker|gateway|owner|runtime)\b", "word",
     "manifest, order, payload, message or decision"),
    (r"\b(?:is|are|be) wanted\b|\bwanted [^,;.\n]{1,60}, found\b", "wanted", "'must be ...' or 'expected X, got Y'"),
    (r"\bplaces? in (?:the|its|a) (?:queue|heap|list|ring|order)\b", "place", "position, index or slot"),
    (r"(?<!-)\banew\b", "anew", "again, or from scratch"),
    (r"(?<!\{)\bgrants?\b(?! (?:access|permission)|\[)", "grant", "bound volume"),
    (r"\bsurroundings?\b", "surroundings", "scheduler host"),
    (r"\bjourneys?\b", "journey", "binding state"),
    (r"\bboard\.(?:h|cc)\b|\b(?:brings|tells|asks|by|to) the board\b", "board", "retained publisher"),
    (r"\bgreet(?:s|ed|ing|ings)?\b", "greet", "connect, announce or subscribe"),
    (r"\bpump(?:s|ed|ing)?\b", "pump", "publish, poll or run"),
    (r"(?<!\")\bdoom(?:s|ed)?\b|\bdoom(?:s|ed)?\b(?!\\?\")", "doom", "terminating"),
    (r"\bcharges\b", "charges", "reserved resources, counts against"),
    (r"\bovertaken\b(?!/)", "overtaken", "superseded"),
    (r"\bowed\b|\bowes?\b", "owed", "pending"),
    (r"(?<![/\"\w])fences?\b|(?<![/\w])fences?\b(?!\\?\")", "fence", "barrier"),
    (r"\b(?:want of|there (?:is|was)(?: no)?|found no|had no|takes?|(?:link|store|broker|memory|disk) has(?: no)?) room\b"
     r"|\broom again\b", "room", "space, capacity or send window"),
    (r"\bgood no more\b", "good no more", "invalidated"),
    (r"\bwho changes (?:his|its|theirs) gets a copy\b", "who changes his gets a copy", "copy-on-write"),
    (r"\btold of\b", "told of", "reported, announced, notified"),
    (r"\bsays more than is heard\b", "says more than is heard", "sends faster than it is read"),
))


def python_spoken(text):
    """Python text of the same length and lines in which only comments and strings stand."""
    kept = [re.sub(r"[^\n]", " ", line) for line in text.splitlines(keepends=True)]
    lines = text.splitlines(keepends=True)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in (tokenize.COMMENT, tokenize.STRING):
                continue
            (first, begin), (last, end) = token.start, token.end
            for row in range(first - 1, last):
                start, stop = (begin if row == first - 1 else 0), (end if row == last - 1 else len(lines[row]))
                kept[row] = kept[row][:start] + lines[row][start:stop] + kept[row][stop:]
    except (SyntaxError, tokenize.TokenError):
        return ""  # sizes.py says so
    return "".join(kept)


def text_of(tree, path):
    """What is said in a file, in its place; None: nothing is looked at there."""
    if path in EXEMPT:
        return None
    if path.endswith(CPP):
        return spoken(tree.text(path))
    if path.endswith(".py"):
        return python_spoken(tree.text(path))
    return tree.text(path) if path.endswith(".md") else None


def check(tree):
    for path in tree.paths:
        text = text_of(tree, path)
        for pattern, said, instead in TERMS if text else ():
            for match in pattern.finditer(text):
                phrase = " ".join(re.sub(r"//+|#|\*", " ", match.group(0)).split())
                yield Finding(path, line_of(text, match.start()), f"'{phrase}' ({said}): write {instead}")
