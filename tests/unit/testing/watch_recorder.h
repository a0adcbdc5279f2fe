/// Defines WatchRecorder, a sink for watch tests.
#ifndef DRIVERUPGRADE_TESTS_UNIT_TESTING_WATCH_RECORDER_H_
#define DRIVERUPGRADE_TESTS_UNIT_TESTING_WATCH_RECORDER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade {

inline std::string Label(const Node& node) { return node.unschedulable ? node.name + "(cordoned)" : node.name; }
inline std::string Label(const Pod& pod) { return pod.ref.ToString(); }
inline std::string Label(const NodeMaintenance& object) { return object.ToString(); }
template <class T>
std::string Label(const T& object) {
  if constexpr (requires { object.ns; }) {
    return object.ns + "/" + object.name;
  } else {
    return object.name;
  }
}

/// Records each call as one line. Tests may read the lines while the watch is idle, or after the watch has ended.
template <class T>
class WatchRecorder final : public WatchSink<T> {
 public:
  using Lines = std::vector<std::string>;

  bool OnList(std::vector<T> objects, std::string_view version) override {
    std::string text = "list";
    for (const T& object : objects) text += " " + Label(object);
    return Note(std::move(text), version);
  }
  bool OnChange(T object, std::string_view version) override {
    last = object;
    return Note("change " + Label(object), version);
  }
  bool OnDelete(T object, std::string_view version) override {
    last = object;
    return Note("delete " + Label(object), version);
  }
  bool OnBookmark(std::string_view version) override { return Note("bookmark", version); }

  /// Returns and removes all recorded lines.
  Lines Take() { return std::exchange(lines, {}); }

  Lines lines = {};
  /// Version that the last call passed.
  std::string version = {};
  T last = {};
  /// Number of calls after which the sink ends the watch.
  std::size_t limit = 1'000'000;
  /// Runs at the start of every call.
  std::function<void()> during = [] {};

 private:
  bool Note(std::string text, std::string_view the_version) {
    during();
    lines.push_back(std::move(text));
    version = std::string(the_version);
    return ++calls_ < limit;
  }

  std::size_t calls_ = 0;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_TESTS_UNIT_TESTING_WATCH_RECORDER_H_
