// SPDX-License-Identifier: MIT
// keysieve status and ping: what the daemon says of itself; quarantine, resume and drain: what an
// operator has it do.
#include <google/protobuf/util/json_util.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "daemon/client/commands.h"
#include "daemon/client/escape.h"
#include "daemon/client/exit_code.h"
#include "daemon/client/job.h"
#include "daemon/client/units.h"
#include "evidence/base/status.h"
#include "keysieve/v1/admin.grpc.pb.h"

namespace keysieve::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kCallTime{5000};
constexpr milliseconds kOrderTime{60000};  // batches under way end first; a device opens
constexpr milliseconds kPingPeriod{100};

milliseconds Milliseconds(double seconds) {
  return milliseconds(static_cast<int64_t>(seconds * 1000));
}

grpc::Status GetStatus(const ServerAddress& server, milliseconds allowed, Interrupt& interrupt,
                       v1::Status* status) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + allowed);
  const auto cancel = interrupt.OnTrigger([&] { context.TryCancel(); });
  return v1::AdminService::NewStub(Connect(server))->GetStatus(&context, {}, status);
}

const char* StateText(v1::DeviceStatus::State state) {
  switch (state) {
    case v1::DeviceStatus::OPEN:
      return "open";
    case v1::DeviceStatus::FAILED_TO_OPEN:
      return "failed to open";
    case v1::DeviceStatus::QUARANTINED:
      return "quarantined";
    default:
      return "unknown";
  }
}

void PrintDevice(const v1::DeviceStatus& device, std::ostream& out) {
  out << "device    " << device.backend() << " " << device.index() << "  "
      << EscapeForTerminal(device.name()) << (device.software() ? " (software)" : "") << "  "
      << StateText(device.state());
  if (!device.state_reason().empty()) out << ": " << EscapeForTerminal(device.state_reason());
  if (!device.policy().empty()) out << ", " << EscapeForTerminal(device.policy());
  if (device.resident_bytes() > 0) out << ", " << BytesText(device.resident_bytes()) << " resident";
  out << ", " << CountText(device.queued_blobs(), "blob") << " queued\n";
}

std::string StatusAsText(const v1::Status& status, const ServerAddress& server) {
  std::ostringstream out;
  out << "daemon    keysieved " << EscapeForTerminal(status.version());
  if (!status.revision().empty()) out << " (" << EscapeForTerminal(status.revision()) << ")";
  out << ", pid " << status.pid() << ", up " << SecondsText(status.uptime_seconds()) << ", at "
      << server.shown << "\n";
  out << "state     "
      << (status.draining() ? "draining"
          : status.ready()  ? "ready"
                            : "not ready")
      << (status.restart_pending() ? ", restarts in place to use a device again" : "") << "\n";
  for (const v1::DeviceStatus& device : status.devices()) PrintDevice(device, out);
  if (!status.route_reason().empty()) {
    out << "route     " << EscapeForTerminal(status.route_reason()) << "\n";
  }
  const v1::RuleSetStatus& rules = status.rules();
  out << "rules     " << EscapeForTerminal(rules.name()) << ": " << rules.rules() << " rules, "
      << rules.literals() << " literals, " << CountText(rules.warnings(), "warning") << ", digest "
      << EscapeForTerminal(rules.digest().substr(0, 16)) << "\n";
  out << "memory    " << BytesText(status.memory_in_use_bytes()) << " of "
      << BytesText(status.memory_limit_bytes()) << " for blobs\n";
  out << "streams   " << status.streams() << " of " << status.stream_limit() << "\n";
  out << "metrics   "
      << (status.admin_address().empty()
              ? "off"
              : "http://" + EscapeForTerminal(status.admin_address()) + "/metrics")
      << "\n";
  return out.str();
}

grpc::Status Give(const OrderCommand& command, v1::AdminService::Stub& admin,
                  grpc::ClientContext& context, v1::Status* status) {
  switch (command.kind) {
    case OrderCommand::Kind::kQuarantine: {
      v1::QuarantineDeviceRequest request;
      request.set_device(command.device);
      request.set_reason(command.reason);
      return admin.QuarantineDevice(&context, request, status);
    }
    case OrderCommand::Kind::kResume: {
      v1::ResumeDeviceRequest request;
      request.set_device(command.device);
      return admin.ResumeDevice(&context, request, status);
    }
    case OrderCommand::Kind::kDrain:
      break;
  }
  return admin.Drain(&context, {}, status);
}

int Complain(Console& console, const std::string& message, int code) {
  console.err << "keysieve: " << EscapeForTerminal(message) << std::endl;
  return code;
}

}  // namespace

int RunStatus(const StatusCommand& command, Console& console) {
  const auto server = ChooseServer(command.common, console);
  if (!server.ok()) return Complain(console, Message(server.status()), kExitUsage);
  const milliseconds allowed =
      command.common.timeout_s > 0 ? Milliseconds(command.common.timeout_s) : kCallTime;
  v1::Status status;
  const grpc::Status called = GetStatus(*server, allowed, console.interrupt, &status);
  if (console.interrupt.triggered()) return kExitInterrupted;
  if (!called.ok()) return Complain(console, Explain(called, *server), kExitService);
  std::string text;
  if (command.json) {
    google::protobuf::util::JsonPrintOptions options;
    options.add_whitespace = true;
    options.always_print_primitive_fields = true;
    options.preserve_proto_field_names = true;
    if (!google::protobuf::util::MessageToJsonString(status, &text, options).ok()) {
      return Complain(console, "the daemon's status is no valid text", kExitService);
    }
  } else {
    text = StatusAsText(status, *server);
  }
  console.out << text << std::flush;
  return console.out ? kExitClean
                     : Complain(console, "cannot write to standard output", kExitService);
}

int RunPing(const PingCommand& command, Console& console) {
  const auto server = ChooseServer(command.common, console);
  if (!server.ok()) return Complain(console, Message(server.status()), kExitUsage);
  const auto end = steady_clock::now() + Milliseconds(command.wait_s);
  std::string why;
  do {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    v1::Status status;
    const grpc::Status called = GetStatus(
        *server, command.wait_s > 0 ? std::clamp(left, kPingPeriod, kCallTime) : kCallTime,
        console.interrupt, &status);
    if (console.interrupt.triggered()) return kExitInterrupted;
    if (called.ok() && status.ready() && !status.draining()) {
      if (!command.common.quiet) console.out << "ready: " << server->shown << std::endl;
      return kExitClean;
    }
    why = called.ok() ? Cat("the daemon at ", server->shown, " is not ready yet")
                      : Explain(called, *server);
  } while (steady_clock::now() < end && !console.interrupt.WaitFor(kPingPeriod));
  if (console.interrupt.triggered()) return kExitInterrupted;
  return Complain(console, why, kExitService);
}

int RunOrder(const OrderCommand& command, Console& console) {
  const auto server = ChooseServer(command.common, console);
  if (!server.ok()) return Complain(console, Message(server.status()), kExitUsage);
  grpc::ClientContext context;
  const milliseconds allowed =
      command.common.timeout_s > 0 ? Milliseconds(command.common.timeout_s) : kOrderTime;
  context.set_deadline(std::chrono::system_clock::now() + allowed);
  const auto cancel = console.interrupt.OnTrigger([&] { context.TryCancel(); });
  v1::Status status;
  const grpc::Status called =
      Give(command, *v1::AdminService::NewStub(Connect(*server)), context, &status);
  if (console.interrupt.triggered()) return kExitInterrupted;
  if (!called.ok()) return Complain(console, Explain(called, *server), kExitService);
  if (command.common.quiet) return kExitClean;
  for (const v1::DeviceStatus& device : status.devices()) PrintDevice(device, console.out);
  if (status.draining()) console.out << "draining: scans under way end, then the daemon leaves\n";
  if (status.restart_pending()) {
    console.out << "the daemon restarts in place as soon as nothing is in flight\n";
  }
  console.out << std::flush;
  return kExitClean;
}

}  // namespace keysieve::client
