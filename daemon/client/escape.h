// SPDX-License-Identifier: MIT
// Bytes made safe to print. Paths and matches are arbitrary bytes: a file name may hold a newline
// or a terminal's control sequence, and neither may reach a report's structure or a reader's
// screen.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace keysieve::client {

// For people: valid UTF-8 stays, except controls and direction overrides; those and invalid bytes
// become \xNN, a backslash is doubled. Undone by Unescape().
std::string EscapeForTerminal(std::string_view bytes);

// For the literal service: printable ASCII stays, every other byte is \xNN, a backslash is doubled.
std::string EscapeLiteral(std::string_view bytes);

// The inverse of both. INVALID_ARGUMENT where a backslash is followed by anything but another one
// or by x and two hexadecimal digits; the message has the column, from 1.
absl::StatusOr<std::string> Unescape(std::string_view text);

bool IsUtf8(std::string_view bytes);

// RFC 4648, padded, on one line.
std::string Base64(std::string_view bytes);

}  // namespace keysieve::client
