# SPDX-License-Identifier: MIT
"""Includes point one way: evidence <- backends <- megakernel <- daemon -> proto. A vendor's headers
stay in the vendor's folder, and each third-party library has its places."""

import re

import house

INCLUDE = re.compile(r'^\s*#\s*(?:include|import)\s*[<"]([^">]+)[>"]')

# What a folder may include of the project. The longest prefix that fits a file decides.
MAY_SEE = {
    "evidence/": ["evidence/"],
    "backends/": ["evidence/", "backends/"],
    "megakernel/": ["evidence/", "backends/", "megakernel/"],
    # The rules know no device: of the megakernel they see plain data, literals and automata.
    "daemon/detect/": ["evidence/base/", "megakernel/", "daemon/detect/"],
    # The client is a program of its own; the daemon could be written in another language.
    "daemon/client/": ["evidence/base/", "keysieve/v1/", "google/rpc/", "daemon/client/"],
    "daemon/config/": ["evidence/", "daemon/config/"],
    "daemon/": ["evidence/", "backends/", "megakernel/", "keysieve/v1/", "google/rpc/", "daemon/"],
}
# No part of the daemon but the client itself knows the client.
NOT_FOR_OTHERS = ["daemon/client/"]
ROOMS = ("evidence/", "backends/", "megakernel/", "daemon/", "keysieve/v1/", "google/rpc/",
         "tests/")

# Third-party headers and the only folders or files that may have them. Tests may have all.
PLACES = [
    (r"prometheus/", ["evidence/exporter.cc"]),
    (r"vulkan/", ["backends/vulkan/"]),
    (r"(cuda|nvml|cooperative_groups|cub/)", ["backends/cuda/", "megakernel/images/cuda"]),
    (r"(Metal|Foundation|objc)/", ["backends/metal/"]),
    (r"hs/", ["backends/cpu/", "megakernel/images/"]),
    (r"re2/", ["daemon/detect/"]),
    (r"toml\+\+/", ["daemon/"]),
    (r"CLI/", ["daemon/client/cli.cc", "daemon/config/flags.cc", "daemon/detect/"]),
    (r"(grpc|grpcpp|google/protobuf)/",
     ["daemon/transport/", "daemon/admin/", "daemon/client/", "daemon/main.cc"]),
    (r"systemd/", ["daemon/"]),
]


def rule_for(path):
    fits = [prefix for prefix in MAY_SEE if path.startswith(prefix)]
    return max(fits, key=len) if fits else None


def room_complaint(path, included):
    rule = rule_for(path)
    if rule is None or not included.startswith(ROOMS):
        return None
    if not included.startswith(tuple(MAY_SEE[rule])):
        return f"{rule} may not include {included}"
    for private in NOT_FOR_OTHERS:
        if included.startswith(private) and not path.startswith(private):
            return f"only {private} may include {included}"
    return None


def place_complaint(path, included):
    if path.startswith("tests/"):
        return None
    for pattern, places in PLACES:
        if re.match(pattern, included) and not path.startswith(tuple(places)):
            return f"<{included}> belongs to {', '.join(places)}"
    return None


def check(tree):
    complaints = []
    for path in tree.code():
        for number, line in enumerate(tree.lines(path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            for complaint in (room_complaint(path, match[1]), place_complaint(path, match[1])):
                if complaint:
                    complaints.append(f"{path}:{number}: {complaint}")
    return complaints


if __name__ == "__main__":
    house.main(check, "includes point one way")
