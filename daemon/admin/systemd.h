// SPDX-License-Identifier: MIT
// What the service manager is told, and the journal as a log sink. Without systemd all of it is
// silent.
#pragma once

#include <string>

#include "daemon/config/log.h"

namespace keysieve::admin {

void NotifyReady(const std::string& status);
void NotifyStatus(const std::string& status);
void NotifyStopping();

// Standard error is the journal's own stream.
bool StderrIsJournal();
// One journal entry a line, each value a field KEYSIEVE_<NAME>.
config::LogSink JournalSink();
// The sink that the settings and the surroundings ask for.
config::LogSink ChooseSink(config::LogFormat format);

}  // namespace keysieve::admin
