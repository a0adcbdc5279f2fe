#include "support/chosen_transport.h"

#include "fmt/format.h"
#ifdef DRIVERUPGRADE_EXAMPLES_HAVE_CPPREST
#include "driverupgrade/kubernetes/cpprest_transport.h"
#endif
#ifdef DRIVERUPGRADE_EXAMPLES_HAVE_CURL
#include "driverupgrade/kubernetes/curl_transport.h"
#endif

namespace examples {

std::vector<std::string> TransportNames() {
  std::vector<std::string> names;
#ifdef DRIVERUPGRADE_EXAMPLES_HAVE_CPPREST
  names.emplace_back("cpprest");
#endif
#ifdef DRIVERUPGRADE_EXAMPLES_HAVE_CURL
  names.emplace_back("curl");
#endif
  return names;
}

absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> MakeChosenTransport(
    std::string_view name, const driverupgrade::KubeConfig& config) {
#ifdef DRIVERUPGRADE_EXAMPLES_HAVE_CPPREST
  if (name == "cpprest") return driverupgrade::MakeCpprestTransport(config, {});
#endif
#ifdef DRIVERUPGRADE_EXAMPLES_HAVE_CURL
  if (name == "curl") return driverupgrade::MakeCurlTransport(config, {});
#endif
  return absl::InvalidArgumentError(fmt::format("no HTTP backend `{}` in this build", name));
}

}  // namespace examples
