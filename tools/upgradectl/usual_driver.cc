#include "upgradectl/usual_driver.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "driverupgrade/label_selector.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "upgradectl/source.h"

namespace upgradectl {
namespace {

using driverupgrade::DaemonSet;
using driverupgrade::LabelSelector;

const std::array<UsualDriver, 2>& UsualDrivers() {
  static const std::array<UsualDriver, 2> drivers = {
      {{.driver = "gpu",
        .ns = "gpu-operator",
        .labels = {"app=nvidia-driver-daemonset", "app.kubernetes.io/component=nvidia-driver"},
        .defaults = "gpu-operator",
        .ledger = "nvidia-gpu-driver-upgrade",
        .validation_selector = "app=nvidia-operator-validator",
        .gpu_pods = true},
       {.driver = "ofed",
        .ns = "nvidia-network-operator",
        .labels = {"nvidia.com/ofed-driver="},
        .defaults = "network-operator",
        .ledger = "nvidia-ofed-driver-upgrade"}}};
  return drivers;
}

std::vector<const DaemonSet*> Selected(const std::vector<DaemonSet>& daemon_sets, std::string_view labels,
                                       const Options& options) {
  std::vector<const DaemonSet*> selected;
  const absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(std::string(labels));
  if (!selector.ok()) return selected;
  for (const DaemonSet& set : daemon_sets) {
    const bool is_there = !options.ns || set.ns == *options.ns;
    if (is_there && selector->Matches(set.labels)) selected.push_back(&set);
  }
  return selected;
}

}  // namespace

const UsualDriver* UsualDriverOf(const std::string& domain, const std::string& driver) {
  if (domain != "nvidia.com") return nullptr;
  const auto& drivers = UsualDrivers();
  const auto* found =
      std::find_if(drivers.begin(), drivers.end(), [&](const UsualDriver& usual) { return usual.driver == driver; });
  return found == drivers.end() ? nullptr : found;
}

const UsualDriver* UsualDriverOf(const Options& options) { return UsualDriverOf(options.domain, options.driver); }

void Locate(const std::vector<DaemonSet>& daemon_sets, Options& options) {
  const UsualDriver* usual = UsualDriverOf(options);
  if (usual == nullptr || (options.ns && options.driver_labels)) return;
  std::vector<std::string_view> candidates = usual->labels;
  if (options.driver_labels) candidates = {*options.driver_labels};
  std::string_view labels;
  std::vector<const DaemonSet*> sets;
  for (const std::string_view candidate : candidates) {
    std::vector<const DaemonSet*> selected = Selected(daemon_sets, candidate, options);
    if (selected.size() <= sets.size()) continue;
    labels = candidate;
    sets = std::move(selected);
  }
  if (sets.empty()) return;
  const bool is_usual_ns =
      std::any_of(sets.begin(), sets.end(), [&](const DaemonSet* set) { return set->ns == usual->ns; });
  const std::string ns = sets.front()->ns;
  if (!options.driver_labels && labels != usual->labels.front()) options.driver_labels = labels;
  if (!options.ns && !is_usual_ns) options.ns = ns;
}

void LocateLive(driverupgrade::HttpTransport& transport, Options& options) {
  if (!options.ns || !options.driver_labels) Locate(ListUsual(transport, options), options);
}

std::vector<DaemonSet> SelectUsual(const std::vector<DaemonSet>& daemon_sets, const Options& options) {
  const UsualDriver* usual = UsualDriverOf(options);
  std::vector<DaemonSet> selected;
  if (usual == nullptr) return selected;
  for (const std::string_view labels : usual->labels) {
    for (const DaemonSet* set : Selected(daemon_sets, labels, {})) {
      const bool is_known =
          std::any_of(selected.begin(), selected.end(), [&](const DaemonSet& known) { return known.uid == set->uid; });
      if (!is_known) selected.push_back(*set);
    }
  }
  return selected;
}

std::vector<DaemonSet> ListUsual(driverupgrade::HttpTransport& transport, const Options& options) {
  const UsualDriver* usual = UsualDriverOf(options);
  std::vector<DaemonSet> listed;
  if (usual == nullptr) return listed;
  for (const std::string_view labels : usual->labels) {
    const absl::StatusOr<std::string> list = ListDaemonSets(transport, std::string(labels));
    if (!list.ok()) return {};
    auto objects = driverupgrade::ParseMixedList(*list, driverupgrade::OnUnreadable::kMark);
    if (!objects.ok()) return {};
    for (DaemonSet& set : objects->daemon_sets) listed.push_back(std::move(set));
  }
  return SelectUsual(listed, options);
}

}  // namespace upgradectl
