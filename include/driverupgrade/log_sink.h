/// Structured log records; where they go is the embedder's business.
///
/// Defines LogRecord, LogSink, FormatLogfmt and MakeLoggingObserver.
///
///     LogSink sink = [](const LogRecord& record) { fmt::print(stderr, "{}\n", FormatLogfmt(record)); };
///     options.observer = MakeLoggingObserver(identity, sink);
///
/// A sink may be called by several threads at once. The message is constant; what varies is in the fields.
#ifndef DRIVERUPGRADE_LOG_SINK_H_
#define DRIVERUPGRADE_LOG_SINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/observer.h"

namespace driverupgrade {

enum class Severity : std::uint8_t { kInfo, kWarning, kError };

struct LogRecord {
  Severity severity = Severity::kInfo;
  std::string message = {};
  std::vector<std::pair<std::string, std::string>> fields = {};
};

using LogSink = std::function<void(const LogRecord& record)>;

/// `level=info msg="node moved" node=gpu-7 to=drain-required`. Values from the cluster are quoted where needed and
/// control characters escaped, so that nobody can forge a line; each is cut at 1 KiB.
std::string FormatLogfmt(const LogRecord& record);

/// Logs every transition with its reason, every change of a gate, every finding once while it lasts, failures, trouble,
/// leadership, and the end of a rollout.
std::shared_ptr<Observer> MakeLoggingObserver(const DriverIdentity& identity, LogSink sink);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_LOG_SINK_H_
