#include "driverupgrade/service/director.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/backoff.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

// Maximum length of a requestor's id that the maintenance operator accepts.
constexpr std::size_t kRequestorIdMax = 63;

// Shortens an id that is too long. Different ids stay different, and an id has the same short form after a restart.
std::string Shortened(std::string id) {
  if (id.size() <= kRequestorIdMax) return id;
  const std::string hash = fmt::format("{:08x}", static_cast<std::uint32_t>(internal::Hash(id, 0)));
  id.resize(kRequestorIdMax - hash.size() - 1);
  while (id.ends_with('-') || id.ends_with('.')) id.pop_back();
  return fmt::format("{}-{}", id, hash);
}

}  // namespace

EngineOptions EngineOptionsOf(EngineOptions common, const EngineSpec& spec) {
  common.snapshot.driver_labels = spec.driver_labels;
  common.snapshot.node_selector = spec.node_selector;
  if (auto& requestor = common.state_machine.requestor)
    requestor->id = Shortened(requestor->id + spec.requestor_suffix);
  if (common.ledger) common.ledger->owner = spec.name;
  return common;
}

}  // namespace driverupgrade
