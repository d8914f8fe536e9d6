// SPDX-License-Identifier: MIT
// libsystemd at work, in this file only; see systemd.h.
#include "daemon/admin/systemd.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "evidence/base/status.h"

namespace keysieve::admin {
namespace {

int Priority(config::LogLevel level) {
  switch (level) {
    case config::LogLevel::kDebug:
      return LOG_DEBUG;
    case config::LogLevel::kInfo:
      return LOG_INFO;
    case config::LogLevel::kWarning:
      return LOG_WARNING;
    case config::LogLevel::kError:
      return LOG_ERR;
  }
  return LOG_ERR;
}

std::string FieldName(std::string name) {
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return "KEYSIEVE_" + name;
}

void WriteToJournal(const config::LogLine& line) {
  std::string text = line.event;
  if (!line.message.empty()) text += ": " + line.message;
  std::vector<std::string> fields = {Cat("PRIORITY=", Priority(line.level)),
                                     "SYSLOG_IDENTIFIER=keysieved", "KEYSIEVE_EVENT=" + line.event};
  for (const config::LogField& field : line.fields) {
    std::string value;
    std::visit([&](const auto& v) { value = Cat(std::boolalpha, v); }, field.value);
    fields.push_back(Cat(FieldName(field.name), "=", value));
    text += Cat(" ", field.name, "=", value);
  }
  fields.push_back("MESSAGE=" + text);
  std::vector<iovec> entries;
  for (std::string& field : fields) entries.push_back({field.data(), field.size()});
  sd_journal_sendv(entries.data(), static_cast<int>(entries.size()));
}

}  // namespace

void NotifyReady(const std::string& status) { sd_notifyf(0, "READY=1\nSTATUS=%s", status.c_str()); }
void NotifyStatus(const std::string& status) { sd_notifyf(0, "STATUS=%s", status.c_str()); }
void NotifyStopping() { sd_notify(0, "STOPPING=1\nSTATUS=draining"); }

bool StderrIsJournal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat info {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &info) != 0) return false;
  return std::string(stream) == Cat(info.st_dev, ":", info.st_ino);
}

config::LogSink JournalSink() { return WriteToJournal; }

config::LogSink ChooseSink(config::LogFormat format) {
  const bool journal = format == config::LogFormat::kJournal ||
                       (format == config::LogFormat::kAuto && StderrIsJournal());
  return journal ? JournalSink() : config::StderrJsonSink();
}

}  // namespace keysieve::admin
