// Parses values that have their own syntax: int-or-percent values, durations, times, and the lines of grants.
#include <limits>

#include "decide/admission/grants.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fuzz/fuzz.h"

namespace driverupgrade::tests {
namespace {

void ReadPolicyValue(const std::string& value) {
  for (const char* field : {"maxUnavailable", "maxParallelUpgrades"}) {
    const auto policy = ParseUpgradePolicy(std::string("{\"") + field + "\": " + value + "}");
    if (!policy.ok() || !policy->max_unavailable) continue;
    for (const int total : {0, 1, 7, std::numeric_limits<int>::max()}) {
      Require(ScaledLimit(*policy->max_unavailable, total) >= 0, "a limit is not negative");
    }
  }
  const auto timeout = ParseUpgradePolicy("{\"drain\": {\"timeoutSeconds\": " + value + "}}");
  Require(!timeout.ok() || Validate(*timeout).ok(), "an accepted timeout is valid");
}

void ReadTime(const std::string& value) {
  const auto lease = ParseObject<Lease>(
      R"({"kind": "Lease", "metadata": {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}, "spec": {)"
      R"("renewTime": )" +
      value + R"(, "acquireTime": )" + value + "}}");
  if (!lease.ok()) return;
  const auto again = ParseObject<Lease>(FormatObject(*lease));
  Require(again.ok(), "a time can be read again");
}

}  // namespace
}  // namespace driverupgrade::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  const std::string text(reinterpret_cast<const char*>(data), size);
  ReadPolicyValue(text);
  ReadPolicyValue(Quoted(text));
  ReadTime(Quoted(text));
  const ParsedGrants grants = ParseGrants(text);
  const ParsedGrants again = ParseGrants(FormatGrants(grants.grants));
  Require(again.grants == grants.grants, "grants are the same after they were written");
  return 0;
}
