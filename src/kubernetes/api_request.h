// What a request is to the API server's authorization: verb, resource, place.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_API_REQUEST_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_API_REQUEST_H_

#include <string>

#include "driverupgrade/kubernetes/http_message.h"

namespace driverupgrade::internal {

struct ApiRequest {
  // As RBAC spells it.
  std::string verb = {};
  // Empty for the core group.
  std::string group = {};
  // With its subresource: "pods/eviction". Empty where the path is none of an API's objects.
  std::string resource = {};
  std::string ns = {};
  std::string name = {};
};

ApiRequest ApiRequestOf(const HttpRequest& request);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_API_REQUEST_H_
