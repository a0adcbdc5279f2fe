#include "kubernetes/line_splitter.h"

namespace driverupgrade {

LineSplitter::Verdict LineSplitter::Deliver(std::string_view line, LineSink& sink) const {
  if (line.size() > line_size_max_) return Verdict::kLineTooLong;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty()) return Verdict::kMore;
  return sink.OnLine(line) ? Verdict::kMore : Verdict::kSinkStopped;
}

LineSplitter::Verdict LineSplitter::Feed(std::string_view chunk, LineSink& sink) {
  while (!chunk.empty()) {
    const std::size_t end = chunk.find('\n');
    if (end == std::string_view::npos) {
      if (rest_.size() + chunk.size() > line_size_max_) return Verdict::kLineTooLong;
      rest_.append(chunk);
      return Verdict::kMore;
    }
    Verdict verdict = Verdict::kMore;
    if (rest_.empty()) {
      verdict = Deliver(chunk.substr(0, end), sink);  // the usual case, without a copy
    } else {
      if (rest_.size() + end > line_size_max_) return Verdict::kLineTooLong;
      rest_.append(chunk.substr(0, end));
      verdict = Deliver(rest_, sink);
      rest_.clear();
    }
    if (verdict != Verdict::kMore) return verdict;
    chunk.remove_prefix(end + 1);
  }
  return Verdict::kMore;
}

}  // namespace driverupgrade
