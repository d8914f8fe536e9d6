# SPDX-License-Identifier: MIT
"""The project speaks of the product alone, and promises nothing it has not done. Patterns are written
so that this file does not match itself."""

import re

import house

FORBIDDEN = [
    (r"\b(TO[D]O|FIX[M]E|XX[X])\b", "unfinished work is not left in the text"),
    (r"\bnot implement[e]d\b", "unfinished work is not left in the text"),
    (r"(?<![\w.])/(?:ho[m]e|ro[o]t|wor[k])/\w", "a path of one machine"),
    (r"(?i)\b[i]ssue #?\d+", "a tracker's number says nothing here"),
    (r"EXPECT_TRUE\(tru[e]\)|ASSERT_TRUE\(tru[e]\)|\bSUCCEE[D]\(\)", "a test that asserts nothing"),
    (r"\babsl::Mute[x]\b(?!\.)", "locks are evidence/base/mutex.h"),
]
COMMENT_ONLY = {"locks are evidence/base/mutex.h"}
SKIPPED = ("LICENSE",)
DATA = (".toml", ".jsonl", ".txt.in")


def is_comment(line):
    return line.lstrip().startswith(("//", "#", "*"))


def check(tree):
    complaints = []
    for path in tree.paths():
        if path in SKIPPED or path.endswith(DATA):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            for pattern, why in FORBIDDEN:
                if why in COMMENT_ONLY and (is_comment(line) or not path.endswith(house.CODE)):
                    continue
                if re.search(pattern, line):
                    complaints.append(f"{path}:{number}: {why}: {line.strip()[:80]}")
    return complaints


if __name__ == "__main__":
    house.main(check, "the text speaks of the product alone")
