/// Keeps the last valid version of each custom resource.
///
/// Defines PolicyMemory.
///
///     PolicyMemory<NvidiaDriver> drivers;
///     std::vector<NvidiaDriver> now = drivers.Read(objects, kNvidiaDrivers, ReadNvidiaDriver);
///     reporter.Report(context, drivers.verdicts());
///
/// T must have the members `name`, `upgrade` (a policy) and `understood`. Not thread-safe.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_POLICY_MEMORY_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_POLICY_MEMORY_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/policy_codec.h"
#include "support/resource_condition.h"

namespace examples {

template <typename T>
class PolicyMemory {
 public:
  /// Returns the result of `read` for each object or, if the object is invalid, for its last valid version. If no
  /// version was ever valid, autoUpgrade is off.
  std::vector<T> Read(const std::vector<driverupgrade::ApiObject>& objects, const driverupgrade::ObjectKind& kind,
                      absl::StatusOr<T> (*read)(const driverupgrade::ApiObject&)) {
    std::vector<T> all;
    std::map<std::string, T> good;
    verdicts_.clear();
    for (const driverupgrade::ApiObject& object : objects) {
      absl::StatusOr<T> now = read(object);
      verdicts_.push_back({.kind = kind, .object = object, .error = now.status()});
      if (now.ok()) verdicts_.back().warnings = driverupgrade::Warnings(now->upgrade);
      const auto before = good_.find(object.uid);
      if (now.ok()) {
        good[object.uid] = *std::move(now);
      } else if (before != good_.end()) {
        good[object.uid] = before->second;
      }
      const auto known = good.find(object.uid);
      all.push_back(known == good.end() ? Unread(object) : known->second);
    }
    good_ = std::move(good);
    return all;
  }

  /// Returns verdicts on the objects of the last Read, in the order of the objects.
  const std::vector<ResourceVerdict>& verdicts() const { return verdicts_; }

 private:
  static T Unread(const driverupgrade::ApiObject& object) {
    T unread;
    unread.name = object.name;
    unread.upgrade.auto_upgrade = false;
    unread.understood = false;
    return unread;
  }

  std::map<std::string, T> good_ = {};  // by UID
  std::vector<ResourceVerdict> verdicts_ = {};
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_POLICY_MEMORY_H_
