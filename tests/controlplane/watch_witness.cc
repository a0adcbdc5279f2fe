#include "watch_witness.h"

#include <chrono>
#include <stdexcept>

#include "json.h"
#include "support.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kFirstListLimit{30};

// Returns a new file name for each witness of a run.
std::filesystem::path NewFile(const ControlPlane& control_plane) {
  static int count = 0;
  return control_plane.folder() / ("watch-" + std::to_string(++count) + ".json");
}

// Parses the complete JSON values at the start of `text` into `timeline`. Returns their size in bytes. The last value
// may be incomplete.
std::size_t ParseEvents(const std::string& text, NodeTimeline& timeline) {
  rapidjson::StringStream stream(text.c_str());
  std::size_t read = 0;
  while (true) {
    rapidjson::Document event;
    event.ParseStream<rapidjson::kParseIterativeFlag | rapidjson::kParseStopWhenDoneFlag>(stream);
    if (event.HasParseError()) return read;
    read = stream.Tell();
    const rapidjson::Value* node = Find(event, {"object"});
    if (node == nullptr || Text(*node, {"kind"}) != "Node") continue;
    NodeVersion version = ToNodeVersion(*node);
    version.deleted = Text(event, {"type"}) == "DELETED";
    timeline.Add(version);
  }
}

}  // namespace

WatchWitness::WatchWitness(ControlPlane& control_plane, const std::string& selector, std::size_t nodes)
    : file_(NewFile(control_plane)) {
  watch_ = control_plane.admin().Start(
      {"get", "nodes", "--selector=" + selector, "--watch", "--output-watch-events", "-o", "json"}, file_);
  if (!Eventually(kFirstListLimit, [&] { return Read().Latest().size() == nodes; })) {
    throw std::runtime_error("the watch does not show " + std::to_string(nodes) + " nodes\n" +
                             control_plane.Troubles());
  }
}

const NodeTimeline& WatchWitness::Read() {
  if (!watch_->IsRunning()) {
    throw std::runtime_error("the watch ended: " + LastLines(file_.string() + ".err", 3));
  }
  offset_ += ParseEvents(ReadFile(file_, offset_), timeline_);
  return timeline_;
}

}  // namespace driverupgrade::e2e
