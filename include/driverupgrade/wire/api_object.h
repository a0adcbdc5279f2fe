/// An object of any kind, as its JSON text: what the library has no type of its own for.
///
/// Defines ApiObject.
///
///     absl::StatusOr<ApiObject> policy = ParseObject<ApiObject>(body);  // kubernetes_json.h
///     if (policy.ok()) Use(policy->name, policy->json);
///
/// A value; copied like any other. Where they come from: kubernetes/object_client.h.
#ifndef DRIVERUPGRADE_WIRE_API_OBJECT_H_
#define DRIVERUPGRADE_WIRE_API_OBJECT_H_

#include <string>

namespace driverupgrade {

struct ApiObject {
  /// Empty where the kind has no namespaces.
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  /// The whole object, without white space, its members in the order of the answer. Integers beyond 64 bits become
  /// floating-point numbers. Items of a list lack `kind` and `apiVersion` where the server leaves them out.
  std::string json = {};
  friend bool operator==(const ApiObject&, const ApiObject&) = default;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_WIRE_API_OBJECT_H_
