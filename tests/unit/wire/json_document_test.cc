// Tests which members of a JSON document the parser keeps.
#include "wire/json_document.h"

#include "support/catch.h"
#include "wire/wanted_members.h"

namespace driverupgrade::tests {
namespace {

std::string Kept(std::string_view text, internal::WantedMembers wanted) {
  internal::JsonDocument document;
  REQUIRE(document.Parse(text, wanted).ok());
  std::string error;
  return internal::JsonField(document.root(), error).Json();
}

TEST_CASE("The parser keeps only the members of a pod that are used, also in lists and watch events") {
  const std::string whole =
      R"({"kind":"Pod","metadata":{"name":"a","managedFields":[{"manager":"kubelet"}]},"spec":{"nodeName":"n1","dnsPolicy":"x"}})";
  const std::string kept = R"({"kind":"Pod","metadata":{"name":"a"},"spec":{"nodeName":"n1"}})";
  CHECK(Kept(whole, internal::Wanted<Pod>::Object()) == kept);
  CHECK(Kept(R"({"items":[)" + whole + "]}", internal::Wanted<Pod>::List()) == R"({"items":[)" + kept + "]}");
  CHECK(Kept(R"({"type":"ADDED","object":)" + whole + "}", internal::Wanted<Pod>::WatchEvent()) ==
        R"({"type":"ADDED","object":)" + kept + "}");
  CHECK(Kept(whole, {}) == whole);
}

TEST_CASE("Skipped members must still be valid JSON") {
  internal::JsonDocument document;
  CHECK_FALSE(document.Parse(R"({"spec":{"dnsPolicy":tru}})", internal::Wanted<Pod>::Object()).ok());
}

}  // namespace
}  // namespace driverupgrade::tests
