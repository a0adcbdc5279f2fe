// The validated settings of a backend that do not depend on the HTTP library. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_TRANSPORT_SETUP_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_TRANSPORT_SETUP_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "kubernetes/redactor.h"
#include "kubernetes/server_url.h"
#include "kubernetes/tls_material.h"
#include "kubernetes/token_source.h"

namespace driverupgrade {

struct TransportSetup {
  ServerUrl url = {};
  std::optional<ServerUrl> proxy = {};
  std::shared_ptr<TlsMaterial> tls = {};  // null for http
  std::unique_ptr<TokenSource> tokens = {};
  std::unique_ptr<Redactor> redactor = {};
  TransportOptions options = {};

  // Errors: same as MakeCurlTransport.
  static absl::StatusOr<TransportSetup> Create(const KubeConfig& config, TransportOptions options);
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_TRANSPORT_SETUP_H_
