// Describes a request as the API server's authorization does: by verb, resource, namespace and name.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_API_REQUEST_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_API_REQUEST_H_

#include <string>

#include "driverupgrade/kubernetes/http_message.h"

namespace driverupgrade::internal {

struct ApiRequest {
  // RBAC verb, such as get, list or watch.
  std::string verb = {};
  // Empty for the core group.
  std::string group = {};
  // Includes the subresource, such as "pods/eviction". Empty if the path does not name an API object.
  std::string resource = {};
  std::string ns = {};
  std::string name = {};
};

ApiRequest ApiRequestOf(const HttpRequest& request);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_API_REQUEST_H_
