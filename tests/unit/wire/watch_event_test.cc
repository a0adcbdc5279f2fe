#include <string>
#include <string_view>
#include <utility>

#include "driverupgrade/wire/kubernetes_json.h"
#include "support/catch.h"
#include "unit/wire/fixtures.h"

namespace driverupgrade {
namespace {

std::string Line(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}";
}

WatchEvent<Node> ErrorEvent(ApiStatus error) {
  WatchEvent<Node> event;
  event.type = WatchEvent<Node>::Type::kError;
  event.error = std::move(error);
  return event;
}

template <typename T>
std::string ErrorOf(const std::string& line) {
  const absl::Status status = ParseWatchEvent<T>(line).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST_CASE("an event for an added, modified, or deleted object contains its version") {
  using Type = WatchEvent<Pod>::Type;
  const auto [text, type] = GENERATE(values<std::pair<std::string, Type>>(
      {{"ADDED", Type::kAdded}, {"MODIFIED", Type::kModified}, {"DELETED", Type::kDeleted}}));
  const auto event = ParseWatchEvent<Pod>(Line(text, fixtures::kPod));
  REQUIRE(event.ok());
  CHECK(*event == WatchEvent<Pod>{.type = type,
                                  .object = *ParseObject<Pod>(fixtures::kPod),
                                  .resource_version = "90071992547409931"});
}

template <typename T>
void CheckKindIsRead(const std::string& object, const std::string& version) {
  const auto event = ParseWatchEvent<T>(Line("MODIFIED", object));
  REQUIRE(event.ok());
  CHECK(event->object == *ParseObject<T>(object));
  CHECK(event->resource_version == version);
}

TEST_CASE("events of every watched kind are read, including kinds whose objects do not store their version") {
  CheckKindIsRead<Node>(fixtures::kNode, "184467");
  CheckKindIsRead<NodeMaintenance>(fixtures::kNodeMaintenance, "812");
  CheckKindIsRead<DaemonSet>(
      R"({"kind":"DaemonSet","metadata":{"name":"driver","namespace":"gpu","resourceVersion":"5","generation":4}})",
      "5");
  CheckKindIsRead<ControllerRevision>(
      R"({"kind":"ControllerRevision","metadata":{"name":"driver-1","resourceVersion":"6"},"revision":2})", "6");
}

TEST_CASE("an object that cannot be read is marked if requested, and its event has the version to continue from") {
  const std::string line =
      Line("MODIFIED", R"({"kind":"Node","metadata":{"name":"n","uid":"u","resourceVersion":"5"},"status":7})");
  CHECK(ErrorOf<Node>(line) == "object.status: expected an object, got a number");
  const auto event = ParseWatchEvent<Node>(line, OnUnreadable::kMark);
  REQUIRE(event.ok());
  CHECK(event->resource_version == "5");
  CHECK(
      event->object ==
      Node{.name = "n", .uid = "u", .resource_version = "5", .unreadable = "status: expected an object, got a number"});
}

TEST_CASE("an event whose object has no readable name or version always causes an error") {
  for (const char* metadata :
       {R"({"name":1,"resourceVersion":"5"})", R"({"name":"n","resourceVersion":5})", R"({"name":"n"})", "[]"}) {
    const std::string object = std::string(R"({"kind":"Node","metadata":)") + metadata + R"(,"status":7})";
    CHECK_FALSE(ParseWatchEvent<Node>(Line("ADDED", object), OnUnreadable::kMark).ok());
  }
}

TEST_CASE("a bookmark contains only a version, and its object is not read") {
  const auto event = ParseWatchEvent<Pod>(
      R"({"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12746",)"
      R"("creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}},)"
      R"("spec":{"containers":null},"status":{}}})");
  REQUIRE(event.ok());
  CHECK(*event == WatchEvent<Pod>{.type = WatchEvent<Pod>::Type::kBookmark, .resource_version = "12746"});
}

TEST_CASE("an error event contains its Status") {
  const auto event = ParseWatchEvent<Node>(
      R"x({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)x"
      R"x("message":"too old resource version: 1 (99)","reason":"Expired","code":410}})x");
  REQUIRE(event.ok());
  CHECK(*event ==
        ErrorEvent(
            {.status = "Failure", .code = 410, .reason = "Expired", .message = "too old resource version: 1 (99)"}));
}

TEST_CASE("an error event with an invalid Status is still an error event") {
  const std::string object = GENERATE(as<std::string>(), "null", "7", "[]", "{}", R"({"kind":"Pod"})", R"({"kind":5})");
  const auto event = ParseWatchEvent<Node>(Line("ERROR", object));
  REQUIRE(event.ok());
  CHECK(*event == ErrorEvent({}));
  CHECK(ParseWatchEvent<Node>(R"({"type":"ERROR"})")->type == WatchEvent<Node>::Type::kError);
  const auto odd = ParseWatchEvent<Node>(Line("ERROR", R"({"kind":"Status","code":"410","reason":"Gone"})"));
  REQUIRE(odd.ok());
  CHECK(*odd == ErrorEvent({.reason = "Gone"}));
}

TEST_CASE("an event of an unknown type is returned as unknown, whatever else it contains") {
  const std::string type = GENERATE(as<std::string>(), "RENAMED", "added", "ADDED ");
  const std::string object = GENERATE(as<std::string>(), "null", "7", R"({"kind":"Quux"})", fixtures::kNode);
  const auto event = ParseWatchEvent<Node>(Line(type, object));
  REQUIRE(event.ok());
  CHECK(event->type == WatchEvent<Node>::Type::kUnknown);
  CHECK(event->object == Node());
  CHECK(event->resource_version.empty());
}

TEST_CASE("a line that is not an event causes an error that contains the path") {
  using Row = std::pair<std::string, std::string>;
  const auto [line, error] = GENERATE(values<Row>({
      {"", "malformed JSON at byte 0: the document is empty"},
      {"<html>", "malformed JSON at byte 0: invalid value"},
      {R"({"type":"ADDED","object":{)", "malformed JSON at byte 26: missing a name for object member"},
      {R"({"type":"BOOKMARK"}{})", "malformed JSON at byte 19: the document root must not be followed by other values"},
      {"[]", "expected an object"},
      {"{}", "type: expected a type, got nothing"},
      {R"({"type":7})", "type: expected a string, got a number"},
      {R"({"kind":"Status","code":500})", "type: expected a type, got nothing"},
      {R"({"type":"ADDED"})", "object.kind: expected \"Node\", got nothing"},
      {R"({"type":"ADDED","object":[]})", "object: expected an object, got an array"},
      {Line("ADDED", fixtures::kPod), "object.kind: expected \"Node\", got \"Pod\""},
      {Line("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":"1"}})"),
       "object.kind: expected \"Node\", got \"Pod\""},
      {Line("DELETED", R"({"kind":"Node"})"), "object.metadata.resourceVersion: expected a version, got nothing"},
      {Line("BOOKMARK", R"({"kind":"Node","metadata":{"resourceVersion":""}})"),
       "object.metadata.resourceVersion: expected a version, got nothing"},
      {Line("MODIFIED", R"({"kind":"Node","metadata":{"resourceVersion":"1","labels":{"a":1}}})"),
       "object.metadata.labels.a: expected a string, got a number"},
  }));
  CAPTURE(line);
  CHECK(ErrorOf<Node>(line) == error);
}

TEST_CASE("the parser refuses every proper prefix of a line, and does not crash") {
  const std::string whole = Line("ADDED", fixtures::kPod);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    REQUIRE_FALSE(ParseWatchEvent<Pod>(std::string_view(whole).substr(0, length)).ok());
  }
}

TEST_CASE("a wrong byte at any position of a line does not crash the parser") {
  for (const char wrong : {'\0', '"', '{', '\xFF', '9', '\\'}) {
    std::string line = Line("ADDED", fixtures::kPod);
    for (char& c : line) {
      const char right = std::exchange(c, wrong);
      (void)ParseWatchEvent<Pod>(line).ok();
      c = right;
    }
  }
}

}  // namespace
}  // namespace driverupgrade
