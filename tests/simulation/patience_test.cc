// Whoever asks again too soon is found (I13).
#include "simulation/world/patience.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using testing::internal::Patience;

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

TEST_CASE("I13: while the server is away, pauses have to have grown after some minutes") {
  const auto wrong_after = [](absl::Duration pause, int asked) {
    Patience patience;
    bool is_wrong = false;
    for (int i = 0; i < asked; ++i) is_wrong = !patience.Unserved(kNow + i * pause).empty();
    return is_wrong;
  };
  CHECK_FALSE(wrong_after(absl::Seconds(1), 100));
  CHECK(wrong_after(absl::Seconds(1), 240));
  CHECK_FALSE(wrong_after(absl::Seconds(3), 240));
  // What is asked for by node is asked for as often as there are nodes.
  const auto wrong_of_two = [](absl::Duration pause) {
    Patience patience;
    bool is_wrong = false;
    for (int i = 0; i < 480; ++i) is_wrong = !patience.Unserved(kNow + i * pause, 2).empty();
    return is_wrong;
  };
  CHECK_FALSE(wrong_of_two(absl::Seconds(1.5)));
  CHECK(wrong_of_two(absl::Seconds(0.5)));

  // Whoever hung in a call for minutes begins with short pauses.
  Patience hung;
  for (int i = 0; i < 20; ++i) CHECK(hung.Unserved(kNow + absl::Seconds(i)).empty());
  for (int i = 0; i < 60; ++i) CHECK(hung.Unserved(kNow + absl::Minutes(4) + absl::Seconds(i)).empty());

  // A watch that is first asked for after minutes begins with short pauses, too.
  Patience kinds;
  for (int i = 0; i < 8; ++i) CHECK(kinds.Unserved(kNow + i * absl::Seconds(25), 1, Operation::kPatchNode).empty());
  for (int i = 0; i < 60; ++i) {
    CHECK(kinds.Unserved(kNow + absl::Seconds(200 + i), 1, Operation::kWatchNodes).empty());
  }

  Patience served;
  for (int i = 0; i < 240; ++i) {
    if (i % 100 == 0) served.Served();
    CHECK(served.Unserved(kNow + absl::Seconds(i)).empty());
  }
}

TEST_CASE("I13: a pod is not asked to go before the server wants to hear of it again") {
  const EvictPodParams pod{.pod = {"shop", "web", "u-web"}};
  Patience patience;
  CHECK(patience.Evicting(pod, kNow).empty());
  patience.Evicted("n1", pod, {.refusal = Refusal::kThrottled, .retry_after = absl::Seconds(30)}, kNow);
  CHECK_FALSE(patience.Evicting(pod, kNow + absl::Seconds(26)).empty());
  CHECK(patience.Evicting(pod, kNow + absl::Seconds(27)).empty());
  CHECK(patience.Evicting({.pod = {"shop", "web", "u-other"}}, kNow).empty());
  // An upgrade that begins anew asks anew.
  patience.UpgradeBegins("n2");
  CHECK_FALSE(patience.Evicting(pod, kNow).empty());
  patience.UpgradeBegins("n1");
  CHECK(patience.Evicting(pod, kNow).empty());
  // The answer to a deletion, whatever it is, sets another pause.
  patience.Evicted("n1", pod, {.refusal = Refusal::kThrottled, .retry_after = absl::Seconds(30)}, kNow);
  REQUIRE_FALSE(patience.Evicting(pod, kNow).empty());
  patience.Deleted({.pod = pod.pod});
  CHECK(patience.Evicting(pod, kNow).empty());
  // What another history has refused is asked anew.
  patience.Evicted("n1", pod, {.refusal = Refusal::kThrottled, .retry_after = absl::Seconds(30)}, kNow);
  patience.ClusterSetBack();
  CHECK(patience.Evicting(pod, kNow).empty());
}

TEST_CASE("I13: what met a conflict is not repeated at once as of the same version") {
  const PatchNodeParams patch{.name = "n1", .uid = "u1", .resource_version = "7"};
  Patience patience;
  patience.MetConflict(patch, kNow);
  CHECK_FALSE(patience.Patching(patch, kNow + absl::Seconds(13)).empty());
  CHECK(patience.Patching(patch, kNow + absl::Seconds(14)).empty());
  CHECK(patience.Patching({.name = "n1", .uid = "u1", .resource_version = "8"}, kNow).empty());
  // Whoever has no driver on the node any more forgets what he tried there.
  patience.NodeLeft("another");
  CHECK_FALSE(patience.Patching(patch, kNow).empty());
  patience.NodeLeft("u1");
  CHECK(patience.Patching(patch, kNow).empty());
}

TEST_CASE("I13: the ledger is not asked for again at once after it could not be had") {
  Patience patience;
  CHECK(patience.AskingLedger(kNow).empty());
  patience.LedgerFailed(kNow);
  CHECK_FALSE(patience.AskingLedger(kNow + absl::Milliseconds(800)).empty());
  CHECK(patience.AskingLedger(kNow + absl::Seconds(1)).empty());
  // Whoever learns that the cluster was set back starts over, once.
  patience.ClusterSetBack();
  CHECK(patience.AskingLedger(kNow).empty());
  CHECK_FALSE(patience.AskingLedger(kNow).empty());
}

}  // namespace
}  // namespace driverupgrade::tests
