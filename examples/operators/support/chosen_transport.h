/// Creates the HTTP backend that a command line names.
///
/// Defines TransportNames and MakeChosenTransport. Both consider only the backends in this build.
///
///     app.add_option("--transport", name, "HTTP library")->check(CLI::IsMember(TransportNames()));
///     auto transport = MakeChosenTransport(name, config);
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CHOSEN_TRANSPORT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CHOSEN_TRANSPORT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace examples {

/// Returns `cpprest`, `curl`, or both; the default is first.
std::vector<std::string> TransportNames();

/// With `cpprest`, sets $SSL_CERT_FILE to /dev/null, unless the variable is set already or `config` has a credential
/// plugin, which would inherit the variable. Must be called before other threads exist. Errors: the errors of the
/// backend; InvalidArgument for a name that is not among TransportNames.
absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> MakeChosenTransport(
    std::string_view name, const driverupgrade::KubeConfig& config);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CHOSEN_TRANSPORT_H_
