#include "driverupgrade/kubernetes/curl_transport.h"
#include "transport_under_test.h"

namespace driverupgrade::testing_support {

const Backend kBackend = {.takes_ipv6_literals = true, .sends_writes_once = true, .knows_what_was_sent = true};

absl::StatusOr<std::shared_ptr<HttpTransport>> TryMakeTransport(const KubeConfig& config,
                                                                const TransportOptions& options) {
  return MakeCurlTransport(config, options);
}

}  // namespace driverupgrade::testing_support
