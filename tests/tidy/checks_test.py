# SPDX-License-Identifier: MIT
"""Each check complains about what it is there for, and about nothing else."""

import os
import tempfile
import unittest
from unittest import mock

import check_headers
import check_includes
import check_sizes
import check_words
import house

LICENCE = "// SPDX-License-Identifier: MIT\n"


class Checks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tree = house.Tree(self.folder.name)

    def write(self, path, text):
        full = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def complaints(self, check, path, text):
        self.write(path, text)
        found = check.check(self.tree)
        os.remove(os.path.join(self.folder.name, path))
        return found

    def test_includes_that_point_back_are_named(self):
        for path, included in [
                ("evidence/a.cc", '"backends/device.h"'),
                ("backends/cpu/a.cc", '"megakernel/literal.h"'),
                ("megakernel/a.cc", '"daemon/scan_types.h"'),
                ("daemon/client/a.cc", '"daemon/config/config.h"'),
                ("daemon/client/a.h", '"megakernel/literal.h"'),
                ("daemon/detect/a.cc", '"backends/device.h"'),
                ("daemon/main.cc", '"daemon/client/cli.h"'),
                ("megakernel/a.cc", '"keysieve/v1/scan.pb.h"'),
                ("daemon/a.cc", '"tests/support/x.h"'),
                ("evidence/recorder.cc", "<prometheus/counter.h>"),
                ("megakernel/session/a.cc", "<vulkan/vulkan.h>"),
                ("daemon/a.cc", "<cuda_runtime.h>"),
                ("daemon/detect/a.cc", "<grpcpp/server.h>"),
                ("backends/cpu/a.cc", "<re2/re2.h>"),
        ]:
            found = self.complaints(check_includes, path, f"#include {included}\n")
            self.assertEqual(len(found), 1, (path, included, found))
            self.assertTrue(found[0].startswith(f"{path}:1: "), found)

    def test_includes_along_the_direction_are_fine(self):
        for path, included in [
                ("backends/cpu/a.cc", '"evidence/device_recorder.h"'),
                ("daemon/client/a.cc", '"keysieve/v1/scan.pb.h"'),
                ("daemon/detect/a.cc", '"megakernel/literal.h"'),
                ("daemon/transport/a.cc", "<grpcpp/server.h>"),
                ("evidence/exporter.cc", "<prometheus/text_serializer.h>"),
                ("tests/any_test.cc", '"daemon/client/cli.h"'),
                ("daemon/a.cc", "<vector>"),
        ]:
            self.assertEqual(self.complaints(check_includes, path, f"#include {included}\n"), [])

    def test_a_missing_licence_is_named(self):
        self.assertEqual(len(self.complaints(check_headers, "a/b.cc", "int x;\n")), 1)
        self.assertEqual(len(self.complaints(check_headers, "a/run", "#!/bin/sh\n")), 1)
        self.assertEqual(self.complaints(check_headers, "a/b.cc", LICENCE), [])
        self.assertEqual(self.complaints(check_headers, "a/b.md", "text\n"), [])

    def test_long_files_are_named(self):
        self.enterContext(mock.patch.object(check_sizes, "ALLOWED", {}))
        self.assertEqual(len(self.complaints(check_sizes, "a.cc", "\n" * 451)), 1)
        self.assertEqual(self.complaints(check_sizes, "a.cc", "\n" * 399), [])

    def test_an_exception_that_is_not_needed_is_named(self):
        self.enterContext(mock.patch.object(check_sizes, "ALLOWED", {"a.cc": "why"}))
        self.assertEqual(self.complaints(check_sizes, "a.cc", "\n" * 451), [])
        self.assertEqual(len(self.complaints(check_sizes, "a.cc", "\n")), 1)

    def test_forbidden_words_are_named(self):
        for text in ["// TO" + "DO: later", "see /ho" + "me/me/x", "fixes iss" + "ue 12",
                     "EXPECT_TRUE(tr" + "ue);", "absl::Mu" + "tex m;"]:
            self.assertEqual(len(self.complaints(check_words, "a.cc", text + "\n")), 1, text)
        for text in ["// done", "a/work/b", "an issue of style", "EXPECT_TRUE(true_enough);"]:
            self.assertEqual(self.complaints(check_words, "a.cc", text + "\n"), [], text)


if __name__ == "__main__":
    unittest.main()
