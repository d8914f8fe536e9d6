// SPDX-License-Identifier: MIT
// Opens a session by the policy asked for: resident, else epochs on the same device. An explicit
// choice that the device cannot keep is refused.
#include <utility>

#include "evidence/base/status.h"
#include "megakernel/images/images.h"
#include "megakernel/session/epoch_session.h"

namespace keysieve::megakernel {
namespace {

absl::StatusOr<std::unique_ptr<Session>> OpenWith(backends::Device& device,
                                                  const SessionOptions& options,
                                                  const Layout& layout, SessionImages images,
                                                  std::string reason) {
  auto session = std::make_unique<EpochSession>(device, options, layout, std::move(images));
  KS_RETURN_IF_ERROR(session->Start());
  session->ExplainPolicy(std::move(reason));
  return session;
}

absl::StatusOr<backends::Image> ScanImageFor(const backends::Device& device,
                                             const SessionOptions& options) {
  const backends::BackendKind backend = device.identity().backend;
  if (options.route == MatchRoute::kShared) return ScanImage(backend, options.geometry.workgroup);
  backends::Limits limits = device.limits();
  if (options.route == MatchRoute::kPortable) limits.subgroup_operations = false;
  return TunedImage(backend, options.geometry.workgroup, limits);
}

}  // namespace

std::string_view SessionPolicyName(SessionPolicy policy) {
  switch (policy) {
    case SessionPolicy::kAuto:
      return "auto";
    case SessionPolicy::kResident:
      return "resident";
    case SessionPolicy::kEpoch:
      return "epoch";
  }
  return "epoch";
}

absl::StatusOr<std::unique_ptr<Session>> Session::Open(backends::Device& device,
                                                       const SessionOptions& options) {
  KS_ASSIGN_OR_RETURN(const Layout layout,
                      LayOut(options.geometry, device.limits(), device.identity()));
  KS_ASSIGN_OR_RETURN(const backends::Image scan, ScanImageFor(device, options));
  if (options.policy == SessionPolicy::kEpoch) {
    return OpenWith(device, options, layout, {.scan = scan}, "epochs were asked for");
  }
  absl::StatusOr<backends::Image> resident =
      options.route == MatchRoute::kShared
          ? absl::UnavailableError("the shared matcher has no resident program")
          : ResidentImage(device.identity().backend, device.limits());
  absl::Status why = resident.status();
  if (resident.ok()) {
    auto session = OpenWith(device, options, layout, {scan, *resident}, "the program is resident");
    if (session.ok() || device.health() == backends::Health::kLost) return session;
    why = session.status();
  }
  if (options.policy == SessionPolicy::kResident) {
    return absl::Status(why.code(), Cat("session.policy = resident: ", Message(why)));
  }
  return OpenWith(device, options, layout, {.scan = scan},
                  Cat("epochs, since no program can be resident: ", Message(why)));
}

}  // namespace keysieve::megakernel
