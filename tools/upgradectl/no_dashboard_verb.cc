// The verb `dashboard` in a build without the service, which provides the page.
#include "absl/status/status.h"
#include "upgradectl/verbs.h"

namespace upgradectl {

absl::StatusOr<int> RunDashboard(const Options&, const Streams&) {
  return absl::UnimplementedError(
      "dashboard: this upgradectl was built without the page (DRIVERUPGRADE_BUILD_SERVICE)");
}

}  // namespace upgradectl
