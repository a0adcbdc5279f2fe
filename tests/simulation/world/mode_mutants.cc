// Defects that only one particular mode of the simulation can reveal, such as wire mode or requestor mode.
#include <algorithm>
#include <string_view>
#include <utility>

#include "simulation/world/mutants.h"

namespace driverupgrade::testing::internal {
namespace {

// Removes members from compact JSON: from each `begin` up to the next `end`, including an adjacent comma.
void EraseMembers(std::string& text, std::string_view begin, std::string_view end) {
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    const std::size_t last = text.find(end, at + begin.size());
    if (last == std::string::npos) return;
    std::size_t size = last + end.size() - at;
    if (text[at + size] == ',') {
      ++size;
    } else if (at > 0 && text[at - 1] == ',') {
      --at;
      ++size;
    }
    text.erase(at, size);
  }
}

// Removes null members, so that a merge patch no longer removes the map entries that it sets to null.
void EraseNulls(std::string& text) {
  for (std::size_t at = text.find(":null"); at != std::string::npos; at = text.find(":null")) {
    const std::size_t begin = text.rfind('"', at - 2);
    const std::string member = text.substr(begin, at + 5 - begin);
    EraseMembers(text, member, "");
  }
}

Mutant InRequests(std::string name, std::function<void(std::string&, std::string&)> change) {
  return {.name = std::move(name), .mode = Mutant::Mode::kWire, .change_request = std::move(change)};
}
Mutant InAnswers(std::string name, std::function<void(std::string&)> change) {
  return {.name = std::move(name), .mode = Mutant::Mode::kWire, .change_answer = std::move(change)};
}

std::vector<Mutant> WrongBytes() {
  return {
      InRequests("bytes: patches name no version",
                 [](std::string&, std::string& body) { EraseMembers(body, "\"resourceVersion\":\"", "\""); }),
      InRequests("bytes: what is removed is left out", [](std::string&, std::string& body) { EraseNulls(body); }),
      InRequests("bytes: evictions name no UID",
                 [](std::string&, std::string& body) { EraseMembers(body, "\"preconditions\":{", "}"); }),
      InAnswers("bytes: nodes are never cordoned",
                [](std::string& body) { EraseMembers(body, "\"unschedulable\":", "true"); }),
      InAnswers("bytes: pods have no owners",
                [](std::string& body) { EraseMembers(body, "\"ownerReferences\":[", "]"); }),
      InAnswers("bytes: the first page is the whole list",
                [](std::string& body) { EraseMembers(body, "\"continue\":\"", "\""); }),
  };
}

std::vector<Mutant> WrongMaintenances() {
  constexpr Mutant::Mode kMode = Mutant::Mode::kRequestor;
  return {
      {.name = "requestor: takes nodes for evacuated",
       .mode = kMode,
       .maintenance =
           [](NodeMaintenance& object) {
             object.conditions = {{.type = "Ready", .status = "True", .reason = "Ready"}};
           }},
      {.name = "requestor: takes what is being deleted for gone",
       .mode = kMode,
       .maintenance =
           [](NodeMaintenance& object) {
             if (!object.deletion_timestamp) return;
             object.requestor_id = "somebody.else";
             object.additional_requestors.clear();
           }},
      {.name = "requestor: gives nothing back", .mode = kMode, .keeps_maintenances = true},
      {.name = "requestor: deletes whatever has the name", .mode = kMode, .deletes_any_maintenance = true},
  };
}

std::vector<Mutant> WrongComparisons() {
  return {
      {.name = "restarts only, whatever differs", .mode = Mutant::Mode::kRestartOnly, .restarts_only = true},
      {.name = "takes every DaemonSet for OnDelete",
       .mode = Mutant::Mode::kRolling,
       .daemon_set = [](DaemonSet& daemon_set) { daemon_set.on_delete = true; }},
  };
}

bool IsForeign(const Taint& taint) { return taint.key == "example.com/team"; }

std::vector<Mutant> WrongGangs() {
  constexpr Mutant::Mode kMode = Mutant::Mode::kGangs;
  return {
      {.name = "gangs: start by the names of their nodes",
       .mode = kMode,
       .policy = [](UpgradePolicy& policy) { policy.rollout->gangs.reset(); }},
      {.name = "gangs: does not mark its units",
       .mode = kMode,
       .patch =
           [](ClusterFacade&, PatchNodeParams& patch) {
             std::erase_if(patch.annotations, [](const auto& one) { return one.first.ends_with(".unit"); });
           }},
      {.name = "gangs: leaves its taint",
       .mode = kMode,
       .patch =
           [](ClusterFacade&, PatchNodeParams& patch) {
             if (patch.taints && std::all_of(patch.taints->begin(), patch.taints->end(), IsForeign))
               patch.taints.reset();
           }},
      {.name = "gangs: drops foreign taints",
       .mode = kMode,
       .patch =
           [](ClusterFacade&, PatchNodeParams& patch) {
             if (patch.taints) std::erase_if(*patch.taints, IsForeign);
           }},
  };
}

}  // namespace

std::vector<Mutant> ModeMutants() {
  std::vector<Mutant> all;
  for (auto& some : {WrongBytes(), WrongMaintenances(), WrongComparisons(), WrongGangs()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace driverupgrade::testing::internal
