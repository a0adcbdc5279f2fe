#include "driverupgrade/kubernetes/cpprest_transport.h"
#include "transport_under_test.h"

namespace driverupgrade::testing_support {

const Backend kBackend = {};

absl::StatusOr<std::shared_ptr<HttpTransport>> TryMakeTransport(const KubeConfig& config,
                                                                const TransportOptions& options) {
  return MakeCpprestTransport(config, options);
}

}  // namespace driverupgrade::testing_support
