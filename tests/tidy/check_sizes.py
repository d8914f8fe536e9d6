# SPDX-License-Identifier: MIT
"""A file holds one thing: code files stay near 400 lines, and lines within 100 columns."""

import house

AIM = 400      # lines: past this a file is listed
LIMIT = 450    # lines: past this it fails
COLUMNS = 100  # clang-format keeps this for C++; here for the shaders and the scripts

# Larger files and why each is still one thing.
ALLOWED = {
    "megakernel/scan_body.inl": "one body for four device languages, none of which links its parts",
}


def check(tree):
    complaints = []
    for path in tree.code() + [p for p in tree.paths() if p.endswith(".py")]:
        lines = tree.lines(path)
        if len(lines) > LIMIT and path not in ALLOWED:
            complaints.append(f"{path}:{len(lines)}: more than {LIMIT} lines; what are its two things?")
        elif len(lines) > AIM:
            print(f"note: {path} has {len(lines)} lines, the aim is {AIM}")
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS and "http" not in line and path.endswith((".comp", ".glsl")):
                complaints.append(f"{path}:{number}: {len(line)} columns, the limit is {COLUMNS}")
    for path in ALLOWED:
        if path not in tree.paths() or len(tree.lines(path)) <= LIMIT:
            complaints.append(f"{path}:1: needs no exception any more")
    return complaints


if __name__ == "__main__":
    house.main(check, "files are of a size to read")
