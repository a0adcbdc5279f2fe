// Provides the defaults of NVIDIA's operators for options that the command line does not set, and finds the drivers of
// these operators in other usual locations.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_USUAL_DRIVER_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_USUAL_DRIVER_H_

#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "upgradectl/options.h"

namespace upgradectl {

struct UsualDriver {
  std::string_view driver;
  std::string_view ns;
  /// Selectors of the driver's DaemonSets and pods, the usual one first.
  std::vector<std::string_view> labels;
  std::string_view defaults;
  std::string_view ledger;
  std::string_view validation_selector = {};
  /// True if pods that request a GPU use the driver.
  bool gpu_pods = false;
};

/// Returns nullptr if upgradectl has no defaults for this driver.
const UsualDriver* UsualDriverOf(const std::string& domain, const std::string& driver);
const UsualDriver* UsualDriverOf(const Options& options);

/// Sets the driver's namespace and labels if the command line does not set them and the driver's DaemonSets are not in
/// the usual location: OpenShift, NVIDIADriver resources and precompiled drivers use other names and labels. Uses the
/// labels that select the most DaemonSets.
void Locate(const std::vector<driverupgrade::DaemonSet>& daemon_sets, Options& options);
/// Return the DaemonSets in any namespace that have a usual label of the driver in `options`. ListUsual returns an
/// empty list if the server refuses the request.
std::vector<driverupgrade::DaemonSet> SelectUsual(const std::vector<driverupgrade::DaemonSet>& daemon_sets,
                                                  const Options& options);
std::vector<driverupgrade::DaemonSet> ListUsual(driverupgrade::HttpTransport& transport, const Options& options);
/// Same as Locate, but lists the DaemonSets of a cluster. Does not change the options if the server refuses the list.
void LocateLive(driverupgrade::HttpTransport& transport, Options& options);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_USUAL_DRIVER_H_
