// JSON of the API server: objects, lists, and dumps of kubectl. What is understood can be written and read again.
#include "driverupgrade/wire/kubernetes_json.h"
#include "fuzz/fuzz.h"

namespace driverupgrade::tests {
namespace {

template <typename T>
void Read(std::string_view json) {
  const absl::StatusOr<T> object = ParseObject<T>(json);
  Require(object.ok() || !HasControlCharacter(object.status().message()), "an error is one line");
  const absl::StatusOr<ListPage<T>> page = ParseList<T>(json);
  Require(page.ok() || !HasControlCharacter(page.status().message()), "an error is one line");
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
  const int kind = bytes.Below(9);
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
    default: (void)ParseMixedList(json).ok();
  }
  return 0;
}
