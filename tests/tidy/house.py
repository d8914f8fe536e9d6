# SPDX-License-Identifier: MIT
"""The project's own files and how a check reports. Every check is a function from a Tree to a list of
complaints, each "path:line: what is wrong"; nothing else is printed when all is well but one line."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = (".cc", ".h", ".cu", ".cuh", ".inl", ".mm", ".comp", ".glsl", ".metal")
SKIPPED_FOLDERS = {"build", ".git", ".cache"}


class Tree:
    """The files below a folder: what git tracks or would, or, without git, everything but build/."""

    def __init__(self, root=ROOT):
        self.root = root

    def paths(self):
        listed = subprocess.run(
            ["git", "-C", self.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True)
        if listed.returncode == 0:
            names = [name for name in listed.stdout.decode().split("\0") if name]
            return sorted(n for n in names if os.path.isfile(os.path.join(self.root, n)))
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS]
            found += [os.path.relpath(os.path.join(folder, n), self.root) for n in names]
        return sorted(found)

    def code(self):
        return [p for p in self.paths() if p.endswith(CODE)]

    def lines(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()


def main(check, what):
    complaints = check(Tree())
    for complaint in complaints:
        print(complaint)
    print(f"tidy: {what}: " + ("holds" if not complaints else f"{len(complaints)} complaints"))
    sys.exit(1 if complaints else 0)
