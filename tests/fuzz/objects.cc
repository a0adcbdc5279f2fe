// Parses JSON from the API server: objects, lists, and kubectl dumps. Accepted objects and lists must be readable again
// after they have been written.
#include "driverupgrade/wire/kubernetes_json.h"
#include "fuzz/fuzz.h"
#include "wire/kubernetes_json_read.h"

namespace driverupgrade::tests {
namespace {

const std::string& NameOf(const Pod& pod) { return pod.ref.name; }
template <typename T>
const std::string& NameOf(const T& object) {
  return object.name;
}

// Checks that an unreadable object has a name and a reason, and does not change the other objects.
template <typename T>
void ReadMarked(std::string_view json, const absl::StatusOr<ListPage<T>>& strict) {
  const absl::StatusOr<ListPage<T>> page = ParseList<T>(json, OnUnreadable::kMark);
  if (strict.ok()) Require(page.ok() && *page == *strict, "intact objects are read as before");
  if (!page.ok()) return Require(!HasControlCharacter(page.status().message()), "an error is one line");
  bool marked = false;
  if constexpr (requires(T & object) { object.unreadable; }) {
    for (const T& object : page->items) {
      if (object.unreadable.empty()) continue;
      marked = true;
      Require(!HasControlCharacter(object.unreadable), "a reason is one line");
      Require(!NameOf(object).empty(), "an unreadable object has a name");
    }
  }
  Require(strict.ok() != marked, "each unreadable object is reported");
}

// Checks that the parser keeps all members that the reader needs.
template <typename T>
void ReadWhole(std::string_view json, const absl::StatusOr<T>& object) {
  internal::JsonDocument document;
  if (!document.Parse(json).ok()) return Require(!object.ok(), "malformed JSON is an error");
  if (!object.ok()) return;
  std::string error;
  T whole;
  internal::ReadObject(internal::JsonField(document.root(), error), whole);
  Require(error.empty() && whole == *object, "members that are not kept are not read");
}

template <typename T>
void Read(std::string_view json) {
  const absl::StatusOr<T> object = ParseObject<T>(json);
  Require(object.ok() || !HasControlCharacter(object.status().message()), "an error is one line");
  const absl::StatusOr<ListPage<T>> page = ParseList<T>(json);
  Require(page.ok() || !HasControlCharacter(page.status().message()), "an error is one line");
  ReadMarked<T>(json, page);
  ReadWhole<T>(json, object);
  if (object.ok()) {
    Require(ParseObject<T>(FormatObject(*object)).ok(), "an object can be read again");
  }
  if (page.ok()) {
    const absl::StatusOr<ListPage<T>> again = ParseList<T>(FormatList(*page));
    Require(again.ok() && again->items.size() == page->items.size(), "a list can be read again");
  }
}

}  // namespace
}  // namespace driverupgrade::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  Bytes bytes(data, size);
  const int kind = bytes.Below(12);
  const std::string_view json = bytes.Rest();
  switch (kind) {
    case 0: Read<Node>(json); break;
    case 1: Read<Pod>(json); break;
    case 2: Read<DaemonSet>(json); break;
    case 3: Read<ControllerRevision>(json); break;
    case 4: Read<PodDisruptionBudget>(json); break;
    case 5: Read<NodeMaintenance>(json); break;
    case 6: Read<Lease>(json); break;
    case 7: Read<ConfigMap>(json); break;
    case 9: Read<DeviceTaintRule>(json); break;
    case 10: Read<ResourceClaim>(json); break;
    case 11: Read<ResourceSlice>(json); break;
    default:
      if (ParseMixedList(json).ok()) {
        Require(ParseMixedList(json, OnUnreadable::kMark).ok(), "intact objects are read as before");
      }
  }
  return 0;
}
