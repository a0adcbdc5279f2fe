// Parses a label selector. An accepted selector must be unchanged after it is written and read again, and must match
// the same labels.
#include <map>

#include "driverupgrade/label_selector.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  Bytes bytes(data, size);
  std::map<std::string, std::string> labels;
  const int count = bytes.Below(4);
  for (int i = 0; i < count; ++i) {
    const std::string key(bytes.Line());
    labels[key] = std::string(bytes.Line());
  }
  const auto selector = LabelSelector::Parse(bytes.Rest());
  if (!selector.ok()) {
    Require(!HasControlCharacter(selector.status().message()), "an error is one line");
    return 0;
  }
  const auto again = LabelSelector::Parse(selector->ToString());
  Require(again.ok() && again->ToString() == selector->ToString(),
          "a selector is the same after it was written and read");
  Require(again->Matches(labels) == selector->Matches(labels), "it selects the same labels");
  return 0;
}
