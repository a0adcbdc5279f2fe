#include "support/chosen_transport.h"

#include <cstdlib>

#include "fmt/format.h"
#ifdef DRIVERUPGRADE_EXAMPLES_HAVE_CPPREST
#include "driverupgrade/kubernetes/cpprest_transport.h"
#endif
#ifdef DRIVERUPGRADE_EXAMPLES_HAVE_CURL
#include "driverupgrade/kubernetes/curl_transport.h"
#endif

namespace examples {
namespace {

// For each connection, cpprestsdk makes OpenSSL read the system's certificate bundle, which the transport does not use.
// This takes half of an upgrade's processor time. Only the program, not the library, can switch the bundle off, and
// only before it connects. If there is a credential plugin, the bundle stays on, because the plugin would inherit the
// setting and may need the bundle.
[[maybe_unused]] void SpareSystemCertificates(const driverupgrade::KubeConfig& config) {
  constexpr int kKeepWhatIsSet = 0;
  if (!config.exec && !config.ca_pem.empty()) setenv("SSL_CERT_FILE", "/dev/null", kKeepWhatIsSet);
}

}  // namespace

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
  if (name == "cpprest") {
    SpareSystemCertificates(config);
    return driverupgrade::MakeCpprestTransport(config, {});
  }
#endif
#ifdef DRIVERUPGRADE_EXAMPLES_HAVE_CURL
  if (name == "curl") return driverupgrade::MakeCurlTransport(config, {});
#endif
  return absl::InvalidArgumentError(fmt::format("no HTTP backend `{}` in this build", name));
}

}  // namespace examples
