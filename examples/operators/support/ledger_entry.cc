#include "support/ledger_entry.h"

#include <map>
#include <utility>

#include "driverupgrade/forwarding_facade.h"
#include "fmt/format.h"

namespace examples {
namespace {

using driverupgrade::CallContext;
using driverupgrade::ConfigMap;
using driverupgrade::DriverIdentity;
using driverupgrade::ForwardingFacade;
using driverupgrade::GetConfigMapParams;
using driverupgrade::PatchConfigMapParams;

// Entries of others stay as they are; one that has the new name already is in the way of nobody who knows the old one.
template <typename Map>
void Rename(Map& data, const std::string& from, const std::string& to) {
  auto entry = data.extract(from);
  data.erase(to);
  if (entry.empty()) return;
  entry.key() = to;
  data.insert(std::move(entry));
}

class OwnersEntry final : public ForwardingFacade {
 public:
  OwnersEntry(std::shared_ptr<driverupgrade::ClusterFacade> next, std::string drivers, std::string owners)
      : ForwardingFacade(std::move(next)), drivers_(std::move(drivers)), owners_(std::move(owners)) {}

  absl::StatusOr<ConfigMap> GetConfigMap(const CallContext& context, const GetConfigMapParams& params) override {
    return AsDrivers(ForwardingFacade::GetConfigMap(context, params));
  }
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& config_map) override {
    ConfigMap owners = config_map;
    Rename(owners.data, drivers_, owners_);
    return AsDrivers(ForwardingFacade::CreateConfigMap(context, owners));
  }
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override {
    PatchConfigMapParams owners = params;
    Rename(owners.data, drivers_, owners_);
    return AsDrivers(ForwardingFacade::PatchConfigMap(context, owners));
  }

 private:
  absl::StatusOr<ConfigMap> AsDrivers(absl::StatusOr<ConfigMap> answer) const {
    if (answer.ok()) Rename(answer->data, owners_, drivers_);
    return answer;
  }

  const std::string drivers_;
  const std::string owners_;
};

}  // namespace

std::string LedgerEntry(const DriverIdentity& identity, const std::string& owner) {
  const std::string drivers = fmt::format("{}_{}", identity.domain(), identity.driver());
  return owner.empty() ? drivers : fmt::format("{}_{}", drivers, owner);
}

std::shared_ptr<driverupgrade::ClusterFacade> WithLedgerEntry(std::shared_ptr<driverupgrade::ClusterFacade> cluster,
                                                              const DriverIdentity& identity,
                                                              const std::string& owner) {
  if (owner.empty()) return cluster;
  return std::make_shared<OwnersEntry>(std::move(cluster), LedgerEntry(identity, ""), LedgerEntry(identity, owner));
}

}  // namespace examples
