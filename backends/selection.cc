// SPDX-License-Identifier: MIT
// The rules by which devices are chosen.
#include "backends/selection.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/base/status.h"

namespace keysieve::backends {
namespace {

// Lower-case hex digits alone: "GPU-0A1B-..." and "0a1b..." name the same device.
std::string NormalizedUuid(std::string_view text) {
  if (text.starts_with("GPU-") || text.starts_with("gpu-")) text.remove_prefix(4);
  std::string hex;
  for (const char c : text) {
    if (c != '-') hex += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return hex;
}

bool SameDevice(const Identity& a, const Identity& b) {
  if (!a.uuid.empty() && a.uuid == b.uuid) return true;
  return !a.pci_address.empty() && a.pci_address == b.pci_address;
}

bool Named(const Identity& identity, const std::string& wanted) {
  if (wanted == std::to_string(identity.index)) return true;
  return !identity.uuid.empty() && NormalizedUuid(wanted) == identity.uuid;
}

void AddOnce(const Identity& identity, std::vector<Identity>& devices) {
  const bool known = std::any_of(devices.begin(), devices.end(), [&](const Identity& other) {
    return other.index == identity.index || SameDevice(other, identity);
  });
  if (!known) devices.push_back(identity);
}

std::string Listed(const std::vector<Identity>& adapters) {
  std::string list;
  for (const Identity& adapter : adapters) {
    list +=
        Cat(list.empty() ? "" : ", ", adapter.index, " = ", adapter.name,
            adapter.uuid.empty() ? "" : " " + adapter.uuid, adapter.software ? " (software)" : "");
  }
  return list;
}

// Hardware where there is any, each physical device once.
std::vector<Identity> AllOf(const std::vector<Identity>& adapters, bool software_too) {
  std::vector<Identity> devices;
  for (const Identity& adapter : adapters) {
    if (software_too || !adapter.software) AddOnce(adapter, devices);
  }
  return devices;
}

absl::StatusOr<Choice> Pick(const std::vector<std::string>& wanted,
                            const std::vector<Identity>& offered, BackendKind kind,
                            std::string why) {
  if (wanted.empty()) return Choice{AllOf(offered, true), std::move(why)};
  Choice choice;
  for (const std::string& name : wanted) {
    const auto found = std::find_if(offered.begin(), offered.end(),
                                    [&](const Identity& adapter) { return Named(adapter, name); });
    if (found == offered.end()) {
      return absl::NotFoundError(Cat("no ", BackendName(kind), " device \"", name, "\"; there is ",
                                     Listed(offered), "; name an index or a UUID"));
    }
    AddOnce(*found, choice.devices);
  }
  choice.why = why + ", limited to the devices named";
  return choice;
}

absl::StatusOr<Choice> SelectNamed(BackendKind kind, const Selection& selection,
                                   const ProbeFunction& probe) {
  const ProbeResult seen = probe(kind);
  if (seen.adapters.empty()) {
    return absl::UnavailableError(Cat("backend ", BackendName(kind), " cannot start: ",
                                      seen.reason.empty() ? "it sees no device" : seen.reason,
                                      "; choose another backend or auto"));
  }
  const std::string why = Cat(BackendName(kind), " was asked for");
  // A software adapter beside a real one is taken only when it is named itself.
  const std::vector<Identity> hardware = AllOf(seen.adapters, false);
  const bool software_too = !selection.devices.empty() || hardware.empty();
  return Pick(selection.devices, software_too ? seen.adapters : hardware, kind, why);
}

absl::StatusOr<Choice> SelectAuto(const Selection& selection, const ProbeFunction& probe) {
  std::string passed_over;
  for (const BackendKind kind :
       {BackendKind::kCuda, BackendKind::kVulkan, BackendKind::kMetal, BackendKind::kCpu}) {
    const ProbeResult seen = probe(kind);
    const std::vector<Identity> offered = AllOf(seen.adapters, kind == BackendKind::kCpu);
    if (!offered.empty()) {
      const std::string why = Cat("auto chose ", BackendName(kind),
                                  passed_over.empty() ? "" : " because " + passed_over);
      return Pick(selection.devices, offered, kind, why);
    }
    const std::string reason = seen.adapters.empty()
                                   ? (seen.reason.empty() ? "no device" : seen.reason)
                                   : Cat("only software (", seen.adapters.front().name, ")");
    passed_over += Cat(passed_over.empty() ? "" : "; ", BackendName(kind), ": ", reason);
  }
  return absl::UnavailableError(Cat("no backend can start: ", passed_over));
}

}  // namespace

absl::StatusOr<Choice> SelectDevicesAmong(const Selection& selection, const ProbeFunction& probe) {
  if (selection.backend.empty() || selection.backend == "auto") return SelectAuto(selection, probe);
  KS_ASSIGN_OR_RETURN(const BackendKind kind, ParseBackendName(selection.backend));
  return SelectNamed(kind, selection, probe);
}

}  // namespace keysieve::backends
