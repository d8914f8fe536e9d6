// SPDX-License-Identifier: MIT
// keysieved: reads settings, starts the daemon, waits for signals. Exit codes: 0 stopped cleanly, 2
// settings, rules or arguments are wrong, 3 it cannot start.
#include <grpc/support/log.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "daemon/admin/systemd.h"
#include "daemon/config/flags.h"
#include "daemon/daemon.h"
#include "daemon/rules_command.h"
#include "evidence/base/status.h"

namespace keysieve {
namespace {

constexpr int kBadInput = 2;
constexpr int kCannotStart = 3;
constexpr int kRestartSignal = SIGUSR1;  // the daemon's own, to its main thread

int Complain(const absl::Status& status, int code) {
  std::fprintf(stderr, "keysieved: %s\n", Message(status).c_str());
  return code;
}

// Large blobs come and go all day: keep their pages instead of mapping them anew each time.
void TuneProcess() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  std::signal(SIGPIPE, SIG_IGN);
  // gRPC would write its own lines between ours; whoever wants them sets GRPC_VERBOSITY.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
  // No core dump may hold a blob; a limit of 1 stops pipes to a collector too.
  const rlimit no_core{1, 1};
  setrlimit(RLIMIT_CORE, &no_core);
}

sigset_t OurSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, kRestartSignal}) sigaddset(&set, signal);
  return set;
}

int Check(const config::Config& config) {
  const auto rules = LoadRules(config);
  if (!rules.ok()) return Complain(rules.status(), kBadInput);
  for (const std::string& warning : rules->rules->warnings()) {
    std::fprintf(stderr, "keysieved: warning: %s\n", warning.c_str());
  }
  std::printf("ok: %zu rules, %zu literals, digest %s\n", rules->rules->rules().size(),
              rules->rules->literals().size(), rules->rules->digest().c_str());
  return 0;
}

absl::Status CheckInputs(const config::Overrides& overrides) {
  const auto config = config::LoadConfig(overrides);
  return config.ok() ? LoadRules(*config).status() : config.status();
}

// What a reload would say; the rules in force stay.
void Recheck(const config::Overrides& overrides, const config::Log& log) {
  const absl::Status status = CheckInputs(overrides);
  if (!status.ok()) {
    log.Error("check", Message(status));
    return;
  }
  log.Info("check", "settings and rules are good; restart the daemon to use them");
}

// Runs this program anew in this process, unless its settings or rules would keep it from starting.
void RestartInPlace(Daemon& daemon, const config::Overrides& overrides, char** argv,
                    const config::Log& log) {
  if (!daemon.restart_due()) return;
  if (const absl::Status inputs = CheckInputs(overrides); !inputs.ok()) {
    return daemon.PostponeRestart(Message(inputs));
  }
  const absl::Status failed = transport::ExecInPlace(argv, daemon.LeaveForRestart());
  log.Error("restart", Message(failed));
  ::_exit(kCannotStart);  // nothing serves any more and a device's library must not be touched
}

int Run(const config::Config& config, const config::Overrides& overrides, char** argv,
        const config::Log& log) {
  const sigset_t signals = OurSignals();
  Surroundings surroundings;
  surroundings.handover = transport::TakeHandover();
  surroundings.want_restart = [] { ::kill(::getpid(), kRestartSignal); };
  surroundings.want_drain = [] { ::kill(::getpid(), SIGTERM); };
  auto daemon = Daemon::Start(config, log, std::move(surroundings));
  if (!daemon.ok()) {
    const bool input = absl::IsInvalidArgument(daemon.status());
    return Complain(daemon.status(), input ? kBadInput : kCannotStart);
  }
  for (int signal = 0; sigwait(&signals, &signal) == 0;) {
    if (signal == SIGHUP) {
      Recheck(overrides, log);
    } else if (signal == kRestartSignal) {
      RestartInPlace(**daemon, overrides, argv, log);
    } else {
      break;
    }
  }
  (*daemon)->Drain([&signals] {  // a second signal means now
    const timespec now{};
    const int again = sigtimedwait(&signals, nullptr, &now);
    return again == SIGTERM || again == SIGINT;
  });
  if ((*daemon)->abandoned_devices()) ::_exit(0);  // its library must not be touched again
  return 0;
}

int Main(int argc, char** argv) {
  TuneProcess();
  const auto line = config::ParseCommandLine(argc, argv);
  if (!line.ok()) return Complain(line.status(), kBadInput);
  if (line->help) {
    std::fputs(line->help_text.c_str(), stdout);
    return 0;
  }
  if (line->version) {
    std::printf("keysieved %s\n", KEYSIEVE_VERSION);
    return 0;
  }
  if (line->rules_command) return RunRulesCommand(line->rules_args);
  const auto config = config::LoadConfig(line->overrides);
  if (!config.ok()) return Complain(config.status(), kBadInput);
  if (line->check) return Check(*config);
  // Before the first thread, so that all of them inherit it.
  const sigset_t signals = OurSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const config::Log log(config->log.level, admin::ChooseSink(config->log.format));
  return Run(*config, line->overrides, argv, log);
}

}  // namespace
}  // namespace keysieve

int main(int argc, char** argv) { return keysieve::Main(argc, argv); }
