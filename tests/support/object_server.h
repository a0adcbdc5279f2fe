/// An in-memory API server for a single object. It supports only creation and compare-and-set by resource version.
///
/// Defines ObjectServer and Patched. Tests put facades that inject faults in front of an ObjectServer. Not thread-safe.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_OBJECT_SERVER_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_OBJECT_SERVER_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_facade.h"

namespace driverupgrade::tests {

template <typename T>
class ObjectServer {
 public:
  absl::StatusOr<T> Get() const {
    if (!object_) return absl::NotFoundError("no such object");
    return *object_;
  }
  absl::StatusOr<T> Create(T object) {
    if (object_) return absl::AlreadyExistsError("there is one");
    return Store(std::move(object));
  }
  absl::StatusOr<T> Update(T object) {
    if (!object_) return absl::NotFoundError("no such object");
    if (object_->resource_version != object.resource_version) return absl::AbortedError("modified since");
    return Store(std::move(object));
  }
  void Delete() { object_.reset(); }
  const std::optional<T>& object() const { return object_; }

 private:
  T Store(T object) {
    object.resource_version = std::to_string(++version_);
    object_ = object;
    return object;
  }

  std::optional<T> object_;
  int version_ = 0;
};

/// Returns the server's object with the patch applied. The result has the resource version of the patch, so Update
/// refuses an outdated patch.
inline ConfigMap Patched(const ObjectServer<ConfigMap>& server, const PatchConfigMapParams& params) {
  ConfigMap object = server.object().value_or(ConfigMap{});
  object.resource_version = params.resource_version;
  for (const auto& [key, value] : params.data) {
    if (value) {
      object.data[key] = *value;
    } else {
      object.data.erase(key);
    }
  }
  return object;
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_OBJECT_SERVER_H_
