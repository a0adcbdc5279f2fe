// On a real API server, `upgradectl status` and `explain` must show the operator's own findings, word for word.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "support.h"
#include "support/catch.h"
#include "viewed.h"

namespace driverupgrade::e2e {
namespace {

constexpr char kOwnView[] = "this is upgradectl's own view, not the operator's: ";

// A driver that does not load on this kernel, as reported by a kubelet.
constexpr char kCrashLoop[] = R"({"status": {"containerStatuses": [{
  "name": "driver", "image": "driver:2", "imageID": "", "ready": false, "restartCount": 5,
  "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 2m40s restarting failed container"}}}]}})";

TEST_CASE("Status reports that the operator is not installed, that alice is not allowed to query it, or that it died",
          "[view]") {
  const std::unique_ptr<Viewed> viewed = Viewed::Make("view");
  if (viewed == nullptr) return;
  viewed->CheckPictures("not-installed");

  // Without the role, upgradectl shows alice the results of its own pass, and the reason for this. The page rejects a
  // request without a token, even if the administrator sends the request.
  viewed->StartOperator();
  CHECK(viewed->Tells({"status"}, std::string(kOwnView) + "create serviceaccounts/token " + viewed->ns() +
                                      "/nvidia-gpu-driver-upgrade-viewer: 403: "));
  const KubectlResult nobody = viewed->Raw();
  INFO(nobody.err);
  CHECK(nobody.exit_code != 0);
  CHECK(nobody.err.find("You must be logged in") != std::string::npos);
  viewed->LetAliceRead();
  CHECK(viewed->Tells({"status"}, "2 of 2 done"));
  CHECK(viewed->Show({"status"}).find(kOwnView) == std::string::npos);

  viewed->KillOperator();
  viewed->world().ChangeDriver("driver:2");
  const std::string later = absl::FormatTime(absl::RFC3339_sec, absl::Now() + absl::Minutes(5), absl::UTCTimeZone());
  viewed->CheckPictures("operator-dead", {"--at", later});
}

TEST_CASE("An operator built on the Go module shows its own view, too", "[go]") {
  const std::unique_ptr<Viewed> viewed = Viewed::Make("view-go");
  if (viewed == nullptr) return;
  Workload workload;
  workload.name = "web";
  workload.replicas = 2;
  workload.unavailable_max = 0;
  viewed->world().Deploy(workload);
  viewed->StartGoOperator();
  CHECK(viewed->Tells({"status"}, "nvidia-gpu-driver-upgrade-viewer: 403: "));
  viewed->LetAliceRead();
  REQUIRE(viewed->Tells({"status"}, ", last pass "));
  REQUIRE(viewed->Tells({"status"}, "2 of 2 done"));
  CHECK(viewed->Show({"status"}).find(kOwnView) == std::string::npos);
  const KubectlResult nobody = viewed->Raw();
  INFO(nobody.err);
  CHECK(nobody.err.find("You must be logged in") != std::string::npos);

  viewed->world().ChangeDriver("driver:2");
  REQUIRE(viewed->Tells({"explain", viewed->node()}, "DisruptionBudget: "));
  CHECK(viewed->Show({"explain", viewed->node()}).find(kOwnView) == std::string::npos);
  // Renewals of the Lease keep the port that the Lease contains.
  Eventually(std::chrono::seconds(15), [] { return false; });
  CHECK(viewed->Show({"status"}).find(kOwnView) == std::string::npos);
}

TEST_CASE("A webhook that refuses the operator's patches of nodes is named until it is deleted", "[view]") {
  const std::unique_ptr<Viewed> viewed = Viewed::Make("view-nodes");
  if (viewed == nullptr) return;
  viewed->Begin();
  viewed->Freeze("UPDATE", "nodes");
  viewed->world().ChangeDriver("driver:2");
  // The operator remembers three failed requests. The advice repeats the last one.
  REQUIRE(viewed->Tells({"explain", viewed->node()}, "failed calling webhook \"freeze.example.com\"", 4));
  viewed->CheckPictures("webhook-nodes");

  viewed->admin().Must({"delete", "validatingwebhookconfiguration", "freeze"});
  CHECK(viewed->Tells({"status"}, "nvidia.com/gpu done: 2 of 2 done"));
  CHECK(viewed->Show({"status"}).find("the operator's request failed") == std::string::npos);
}

TEST_CASE("A webhook that refuses evictions is named", "[view]") {
  const std::unique_ptr<Viewed> viewed = Viewed::Make("view-evictions");
  if (viewed == nullptr) return;
  Workload workload;
  workload.name = "web";
  workload.replicas = 2;
  viewed->world().Deploy(workload);
  viewed->Begin();
  viewed->Freeze("CREATE", "pods/eviction");
  viewed->world().ChangeDriver("driver:2");
  REQUIRE(viewed->Tells({"explain", viewed->node()}, "EvictionRefused: "));
  viewed->CheckPictures("webhook-evictions");
}

TEST_CASE("A driver that crashes is named", "[view]") {
  const std::unique_ptr<Viewed> viewed = Viewed::Make("view-crash");
  if (viewed == nullptr) return;
  viewed->Begin();
  viewed->world().ChangeDriverAndHold("driver:2");
  REQUIRE(viewed->Tells({"explain", viewed->node()}, "DriverPodNotReady: "));
  viewed->admin().Must({"patch", "pod", viewed->world().DriverPodOn(viewed->node()).name, "--namespace=" + viewed->ns(),
                        "--subresource=status", "--type=merge", "--patch=" + std::string(kCrashLoop)});
  REQUIRE(viewed->Tells({"explain", viewed->node()}, "CrashLoopBackOff"));
  REQUIRE(viewed->Tells({"status"}, "container driver keeps crashing"));
  viewed->CheckPictures("crash-loop");
}

TEST_CASE("explain warns about a node that is about to fail, and names the budget that blocks it", "[view]") {
  const std::unique_ptr<Viewed> viewed = Viewed::Make("view-deadline");
  if (viewed == nullptr) return;
  Workload workload;
  workload.name = "web";
  workload.replicas = 2;
  workload.unavailable_max = 0;
  viewed->world().Deploy(workload);
  viewed->Begin();
  viewed->world().ChangeDriver("driver:2");
  REQUIRE(viewed->Tells({"explain", viewed->node()}, "The node fails in "));
  REQUIRE(viewed->Tells({"explain", viewed->node()}, "DisruptionBudget: "));
  viewed->CheckPictures("about-to-fail");
}

}  // namespace
}  // namespace driverupgrade::e2e
