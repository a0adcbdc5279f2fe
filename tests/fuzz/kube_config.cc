// Parses an untrusted kubeconfig. Error messages must be single lines, and an accepted kubeconfig must not disable the
// verification of certificates.
#include "driverupgrade/kubernetes/kube_config.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  // Skipped, because parsing would open the file.
  if (document.find("/dev/") != std::string_view::npos || document.find("/proc/") != std::string_view::npos) return 0;
  const auto config = KubeConfig::Parse(document, {.base_dir = "/nonexistent", .source = "fuzz"});
  if (!config.ok()) {
    Require(!HasControlCharacter(config.status().message()), "an error is one line");
    return 0;
  }
  Require(config->server.starts_with("https://") || config->server.starts_with("http://"), "a server has a scheme");
  Require(!config->insecure_skip_tls_verify, "certificates are verified");
  Require(config->client_certificate_pem.empty() == config->client_key_pem.empty(), "certificate and key go together");
  return 0;
}
