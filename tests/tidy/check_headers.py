# SPDX-License-Identifier: MIT
"""Every file that can carry a comment says its licence in its first lines."""

import os

import house

TEXT = house.CODE + (".py", ".cmake", ".proto", ".sh", ".toml", ".service", ".conf", ".S")
NAMES = {"CMakeLists.txt"}
LINE = "SPDX-License-Identifier: MIT"
FIRST_LINES = 3


def wants_licence(tree, path):
    if path.endswith(TEXT) or os.path.basename(path) in NAMES:
        return True
    lines = tree.lines(path)[:1] if "." not in os.path.basename(path) else []
    return bool(lines) and lines[0].startswith("#!")


def check(tree):
    return [f"{path}:1: no line '{LINE}'" for path in tree.paths()
            if wants_licence(tree, path)
            and not any(LINE in line for line in tree.lines(path)[:FIRST_LINES])]


if __name__ == "__main__":
    house.main(check, "files say their licence")
