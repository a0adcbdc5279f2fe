#include "driverupgrade/driver_identity.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace driverupgrade {
namespace {

std::string ErrorOf(const std::string& domain, const std::string& driver) {
  const absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create(domain, driver);
  if (identity.ok()) return "";
  CHECK(identity.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(identity.status().message());
}

TEST_CASE("the keys of the GPU driver equal the keys of the Go library") {
  const absl::StatusOr<DriverIdentity> gpu = DriverIdentity::Create("nvidia.com", "gpu");
  REQUIRE(gpu.ok());
  CHECK(gpu->domain() == "nvidia.com");
  CHECK(gpu->driver() == "gpu");
  CHECK(gpu->Name() == "nvidia.com/gpu");
  CHECK(gpu->StateLabel() == "nvidia.com/gpu-driver-upgrade-state");
  CHECK(gpu->SkipUpgradeLabel() == "nvidia.com/gpu-driver-upgrade.skip");
  CHECK(gpu->SkipDrainPodLabel() == "nvidia.com/gpu-driver-upgrade-drain.skip");
  CHECK(gpu->SafeLoadAnnotation() == "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load");
  CHECK(gpu->InitiallyUnschedulableAnnotation() == "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable");
  CHECK(gpu->PodCompletionStartAnnotation() == "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time");
  CHECK(gpu->ValidationStartAnnotation() == "nvidia.com/gpu-driver-upgrade-validation-start-time");
  CHECK(gpu->UpgradeRequestedAnnotation() == "nvidia.com/gpu-driver-upgrade-requested");
  CHECK(gpu->RequestorModeAnnotation() == "nvidia.com/gpu-driver-upgrade-requestor-mode");
  CHECK(gpu->EventReason() == "GPUDriverUpgrade");
}

TEST_CASE("keys that the Go library does not have start with the same prefix") {
  const absl::StatusOr<DriverIdentity> ofed = DriverIdentity::Create("nvidia.com", "ofed");
  REQUIRE(ofed.ok());
  CHECK(ofed->StateLabel() == "nvidia.com/ofed-driver-upgrade-state");
  CHECK(ofed->StageAnnotation() == "nvidia.com/ofed-driver-upgrade.stage");
  CHECK(ofed->FailedRevisionAnnotation() == "nvidia.com/ofed-driver-upgrade.failed-revision");
  CHECK(ofed->RestartPodAnnotation() == "nvidia.com/ofed-driver-upgrade.restart-pod");
  CHECK(ofed->PolicyAnnotation() == "nvidia.com/ofed-driver-upgrade.policy");
  CHECK(ofed->EventReason() == "OFEDDriverUpgrade");
}

TEST_CASE("identities are equal if both domain and driver are equal") {
  const DriverIdentity gpu = *DriverIdentity::Create("nvidia.com", "gpu");
  CHECK(gpu == *DriverIdentity::Create("nvidia.com", "gpu"));
  CHECK_FALSE(gpu == *DriverIdentity::Create("nvidia.com", "ofed"));
  CHECK_FALSE(gpu == *DriverIdentity::Create("amd.com", "gpu"));
}

TEST_CASE("driver names have at most 13 characters, so the longest key stays within the limit of Kubernetes") {
  const absl::StatusOr<DriverIdentity> longest = DriverIdentity::Create("nvidia.com", "a-13-char-drv");
  REQUIRE(longest.ok());
  const std::string key = longest->PodCompletionStartAnnotation();
  CHECK(key.substr(key.find('/') + 1).size() == 63);
  CHECK(ErrorOf("nvidia.com", "a-14-char-drvr") ==
        "driver identity: driver name \"a-14-char-drvr\" has 14 characters, and at most 13 leave room for "
        "the longest "
        "key, \"<driver>-driver-upgrade-wait-for-pod-completion-start-time\", within the 63 that Kubernetes "
        "allows");
}

TEST_CASE("valid driver names are accepted") {
  const std::string driver = GENERATE("g", "0", "gpu", "vgpu-manager", "a.b_c-d", "9x9");
  CAPTURE(driver);
  CHECK(ErrorOf("nvidia.com", driver) == "");
}

TEST_CASE("invalid driver names are refused") {
  const std::string driver =
      GENERATE("", "GPU", "-gpu", "gpu-", ".gpu", "gpu_", "g pu", "g/pu", "g\xc3\xa4u", "gPu", "gpu\n");
  CAPTURE(driver);
  CHECK(ErrorOf("nvidia.com", driver).find("driver identity: driver name") == 0);
}

TEST_CASE("valid domains are accepted") {
  const std::string domain =
      GENERATE(as<std::string>(), "nvidia.com", "x", "a-b.c", "0.example", std::string(253, 'a'));
  CAPTURE(domain);
  CHECK(ErrorOf(domain, "gpu") == "");
}

TEST_CASE("invalid domains are refused") {
  const std::string domain =
      GENERATE(as<std::string>(), "", "Nvidia.com", "nvidia..com", ".com", "com.", "-a.com", "a-.com", "a.-b", "a.b-",
               "a_b.com", "nvidia.com/x", "nvidia com", std::string(254, 'a'));
  CAPTURE(domain);
  CHECK(ErrorOf(domain, "gpu").find("driver identity: domain") == 0);
}

TEST_CASE("an error shows the refused text escaped and truncated") {
  CHECK(ErrorOf("a\x1b[31m\"", "gpu").find("\"a\\x1b[31m\\\"\"") != std::string::npos);
  CHECK(ErrorOf(std::string(100'000, 'A'), "gpu").size() < 300);
}

}  // namespace
}  // namespace driverupgrade
