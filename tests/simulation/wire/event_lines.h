// Converts the events of a facade's watch into the lines of a stream.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WIRE_EVENT_LINES_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WIRE_EVENT_LINES_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "simulation/wire/api_answer.h"
#include "simulation/wire/wire_seam.h"
#include "wire/object_kind.h"

namespace driverupgrade::tests {

// Formats the object with `version` as its resource version. Some objects have no version, and some deleted objects
// still have their earlier version.
template <typename T>
std::string ObjectAt(T object, std::string_view version) {
  if constexpr (requires { object.resource_version; }) {
    object.resource_version = version;
    return WithOtherOwners(FormatObject(object));
  } else {
    std::string text = WithOtherOwners(FormatObject(object));
    constexpr std::string_view kMetadata = "\"metadata\":{";
    const std::size_t at = text.find(kMetadata);
    return text.insert(at + kMetadata.size(), fmt::format("\"resourceVersion\":\"{}\",", version));
  }
}

template <typename T>
class EventLines final : public WatchSink<T> {
 public:
  // Breaks the stream after `lines` lines. If the number is negative, the stream never breaks.
  EventLines(const testing::WireSeam& seam, LineSink& sink, int lines) : seam_(seam), sink_(sink), lines_(lines) {}

  bool OnList(std::vector<T>, std::string_view) override { return true; }
  bool OnChange(T object, std::string_view version) override {
    // The client handles MODIFIED and ADDED in the same way.
    const char* type = (version.empty() || (version.back() - '0') % 2 == 0) ? "MODIFIED" : "ADDED";
    return Give(fmt::format(R"({{"type":"{}","object":{}}})", type, ObjectAt(std::move(object), version)));
  }
  bool OnDelete(T object, std::string_view version) override {
    return Give(fmt::format(R"({{"type":"DELETED","object":{}}})", ObjectAt(std::move(object), version)));
  }
  bool OnBookmark(std::string_view version) override {
    return Give(fmt::format(
        R"({{"type":"BOOKMARK","object":{{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}"}}}}}})",
        internal::KindOf<T>(), internal::ApiVersionOf<T>(), version));
  }

  bool open() const { return open_; }
  // The reason why the stream broke, or OK if it did not break.
  const absl::Status& broken() const { return broken_; }
  void Open() {
    if (!std::exchange(open_, true)) sink_.OnOpen({.status = 200});
  }
  void GiveError(const std::string& line) {
    Open();
    (void)sink_.OnLine(line);
  }

 private:
  bool Give(std::string line) {
    Open();
    if (seam_.change_answer) seam_.change_answer(line);
    if (line.empty()) return true;
    if (lines_ != 0) {
      --lines_;
      return sink_.OnLine(line);
    }
    return Break(std::move(line));
  }
  bool Break(std::string line) {
    switch (seam_.draw(6)) {
      case 0: line.resize(line.size() / 2); return sink_.OnLine(line);
      case 1: return sink_.OnLine("<html><body>502 Bad Gateway</body></html>");
      case 2: return sink_.OnLine(ErrorLine(410, "Expired", "too old resource version"));
      case 3: return sink_.OnLine(ErrorLine(500, "InternalError", "etcdserver: leader changed"));
      // An unknown event must not make a client end the watch.
      case 4: lines_ = -1; return sink_.OnLine(R"({"type":"NOVELTY","object":{}})") && sink_.OnLine(line);
      default: broken_ = absl::UnavailableError("unexpected EOF"); return false;
    }
  }

  const testing::WireSeam& seam_;
  LineSink& sink_;
  int lines_;
  bool open_ = false;
  absl::Status broken_ = absl::OkStatus();
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_EVENT_LINES_H_
