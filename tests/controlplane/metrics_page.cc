#include "metrics_page.h"

#include <chrono>

#include "process.h"
#include "support.h"
#include "support/catch.h"
#include "support/http_get.h"

namespace driverupgrade::e2e {

std::string CheckedMetrics(const ControlPlane& control_plane, int port) {
  const std::string answer = tests::HttpGet(port, "/metrics");
  REQUIRE(answer.find("\r\n\r\n") != std::string::npos);
  const std::string page = answer.substr(answer.find("\r\n\r\n") + 4);
  CHECK(page.find("# TYPE ") != std::string::npos);
#ifdef DRIVERUPGRADE_PROMTOOL
  const std::filesystem::path file = control_plane.folder() / "metrics.txt";
  WriteFile(file, page);
  ProcessOptions options;
  options.out = control_plane.folder() / "promtool.log";
  Process promtool({"sh", "-c", "exec " DRIVERUPGRADE_PROMTOOL " check metrics < " + file.string()}, options);
  const auto exit_code = promtool.Wait(std::chrono::seconds(30));
  INFO(ReadFile(options.out) << page);
  CHECK(exit_code == 0);
#else
  WARN("no promtool: the page is not checked");
  (void)control_plane;
#endif
  return page;
}

}  // namespace driverupgrade::e2e
