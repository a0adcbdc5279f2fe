#include "kubernetes/api_request.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::ApiRequest;
using internal::ApiRequestOf;

struct Row {
  HttpRequest request;
  ApiRequest wanted;
};

TEST_CASE("A request is classified by the attributes that Kubernetes uses for authorization") {
  const auto row = GENERATE(values<Row>({
      {{.path = "/api/v1/nodes"}, {"list", "", "nodes", "", ""}},
      {{.path = "/api/v1/nodes", .query = {{"watch", "1"}}}, {"watch", "", "nodes", "", ""}},
      {{.path = "/api/v1/nodes", .query = {{"watch", "0"}}}, {"list", "", "nodes", "", ""}},
      {{.verb = HttpVerb::kPatch, .path = "/api/v1/nodes/n1"}, {"patch", "", "nodes", "", "n1"}},
      {{.path = "/api/v1/namespaces/shop/pods/web"}, {"get", "", "pods", "shop", "web"}},
      {{.verb = HttpVerb::kPost, .path = "/api/v1/namespaces/shop/pods/web/eviction"},
       {"create", "", "pods/eviction", "shop", "web"}},
      {{.verb = HttpVerb::kDelete, .path = "/api/v1/namespaces/shop/pods/web"}, {"delete", "", "pods", "shop", "web"}},
      {{.verb = HttpVerb::kDelete, .path = "/api/v1/namespaces/shop/pods"},
       {"deletecollection", "", "pods", "shop", ""}},
      {{.verb = HttpVerb::kPut, .path = "/apis/coordination.k8s.io/v1/namespaces/shop/leases/x"},
       {"update", "coordination.k8s.io", "leases", "shop", "x"}},
      {{.path = "/apis/apps/v1/daemonsets"}, {"list", "apps", "daemonsets", "", ""}},
      {{.path = "/api/v1/namespaces/shop"}, {"get", "", "namespaces", "", "shop"}},
      {{.path = "/version"}, {"list", "", "", "", ""}},
      {{.path = "/"}, {"list", "", "", "", ""}},
      {{.path = "/apis/apps/v1"}, {"list", "", "", "", ""}},
  }));
  CAPTURE(row.request.path);
  const ApiRequest request = ApiRequestOf(row.request);
  CHECK(request.verb == row.wanted.verb);
  CHECK(request.group == row.wanted.group);
  CHECK(request.resource == row.wanted.resource);
  CHECK(request.ns == row.wanted.ns);
  CHECK(request.name == row.wanted.name);
}

}  // namespace
}  // namespace driverupgrade::tests
