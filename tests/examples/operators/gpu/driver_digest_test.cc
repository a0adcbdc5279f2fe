#include "gpu/driver_digest.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using gpu_operator::DriverDigest;
using gpu_operator::LoadsSameDriver;

std::string Env(const std::string& value) {
  return R"({"env":[{"name":"OTHER","value":"x"},{"name":"DRIVER_CONFIG_DIGEST","value":")" + value + R"("}]})";
}

ControllerRevision Revision(const std::string& init, const std::string& containers) {
  return {.data = R"({"spec":{"template":{"spec":{"initContainers":[)" + init + R"(],"containers":[)" + containers +
                  R"(]}}}})"};
}

TEST_CASE("upstream 1.6: the digest is the first digest that is not empty, starting with init containers") {
  CHECK(DriverDigest(Revision(Env("a"), Env("b"))) == "a");
  CHECK(DriverDigest(Revision(Env("") + "," + R"({"env":[{"name":"DRIVER_CONFIG_DIGEST"}]})", "{}," + Env("b"))) ==
        "b");
  CHECK(DriverDigest(Revision("", Env(""))).empty());
  CHECK(DriverDigest({}).empty());
  CHECK(DriverDigest({.data = "[]"}).empty());
}

TEST_CASE("upstream 1.6: two drivers are the same if their digests are known and equal") {
  const ControllerRevision a = Revision(Env("a"), "");
  CHECK(LoadsSameDriver(a, Revision("", Env("a"))));
  CHECK_FALSE(LoadsSameDriver(a, Revision("", Env("b"))));
  CHECK_FALSE(LoadsSameDriver(a, {}));
  CHECK_FALSE(LoadsSameDriver({}, a));
  CHECK_FALSE(LoadsSameDriver({}, {}));
}

}  // namespace
}  // namespace driverupgrade::tests
