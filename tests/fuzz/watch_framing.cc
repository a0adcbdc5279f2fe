// Splits the bytes of a watch into lines, which must not depend on the chunks in which the bytes arrive. Each line is
// then parsed as a watch event, and an accepted event must have a version.
#include <vector>

#include "driverupgrade/cluster_reads.h"
#include "fuzz/fuzz.h"
#include "kubernetes/line_splitter.h"
#include "kubernetes/watch_lines.h"

namespace driverupgrade::tests {
namespace {

constexpr std::size_t kLineMax = 4096;
using Verdict = LineSplitter::Verdict;

class Lines final : public LineSink {
 public:
  bool OnLine(std::string_view line) override {
    Require(!line.empty() && line.size() <= kLineMax, "a line is neither empty nor over the limit");
    Require(line.find('\n') == std::string_view::npos, "a line has no line feed");
    lines.emplace_back(line);
    return true;
  }
  std::vector<std::string> lines = {};
};

class Events final : public WatchSink<Node> {
 public:
  bool OnList(std::vector<Node>, std::string_view) override { return true; }
  bool OnChange(Node node, std::string_view version) override { return Take(node, version); }
  bool OnDelete(Node node, std::string_view version) override { return Take(node, version); }
  bool OnBookmark(std::string_view version) override {
    Require(!version.empty(), "a bookmark has a version");
    return true;
  }

 private:
  static bool Take(const Node& node, std::string_view version) {
    Require(!version.empty(), "an event has a version");
    Require(node.unreadable.empty() || !node.name.empty(), "an unreadable object has a name");
    return true;
  }
};

// Returns the verdict and the lines for bytes that arrive in chunks of `chunk` bytes.
std::pair<Verdict, std::vector<std::string>> Split(std::string_view bytes, std::size_t chunk) {
  LineSplitter splitter(kLineMax);
  Lines sink;
  Verdict verdict = Verdict::kMore;
  for (std::size_t at = 0; at < bytes.size() && verdict == Verdict::kMore; at += chunk) {
    verdict = splitter.Feed(bytes.substr(at, chunk), sink);
  }
  return {verdict, sink.lines};
}

}  // namespace
}  // namespace driverupgrade::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  Bytes bytes(data, size);
  const std::size_t chunk = 1 + static_cast<std::size_t>(bytes.Below(64));
  const auto whole = Split(bytes.Rest(), size + 1);
  Require(Split(bytes.Rest(), chunk) == whole, "the size of chunks makes no difference");
  Events sink;
  for (const OnUnreadable on_unreadable : {OnUnreadable::kFail, OnUnreadable::kMark}) {
    internal::WatchLines<Node> events("watch nodes", sink, on_unreadable);
    for (const std::string& line : whole.second) {
      if (!events.OnLine(line)) break;
    }
    Require(!HasControlCharacter(events.status().message()), "an error is one line");
  }
  return 0;
}
