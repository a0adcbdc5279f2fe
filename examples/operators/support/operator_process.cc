#include "support/operator_process.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <utility>

#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "fmt/format.h"
#include "support/chosen_transport.h"

namespace examples {

namespace {

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()); }

const char* ToString(driverupgrade::Severity severity) {
  switch (severity) {
    case driverupgrade::Severity::kInfo: return "info";
    case driverupgrade::Severity::kWarning: return "warning";
    case driverupgrade::Severity::kError: return "error";
  }
  return "";
}

}  // namespace

std::string FormatJson(const driverupgrade::LogRecord& record, const std::string& logger, absl::Time time) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const auto put = [&](const std::string& key, std::string value) {
    std::replace_if(
        value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    writer.Key(key.c_str());
    writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  writer.StartObject();
  put("time", TimeText(time));
  put("logger", logger);
  put("level", ToString(record.severity));
  put("msg", record.message);
  for (const auto& [key, value] : record.fields) put(key, value);
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

driverupgrade::LogSink StderrLog(std::string logger, bool json) {
  return [logger = std::move(logger), json](const driverupgrade::LogRecord& record) {
    const absl::Time now = absl::Now();
    const std::string line =
        (json ? FormatJson(record, logger, now)
              : fmt::format("time={} logger={} {}", TimeText(now), logger, driverupgrade::FormatLogfmt(record))) +
        "\n";
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::fputs(line.c_str(), stderr);
  };
}

std::string Words(const absl::Status& status) { return std::string(status.message()); }

StopOnSignal::StopOnSignal() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);  // inherited by every thread started from now on
  thread_ = std::thread([this] {
    int signal = 0;
    sigwait(&signals_, &signal);
    source_.request_stop();
  });
}

StopOnSignal::~StopOnSignal() {
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

absl::StatusOr<Connection> Connect(std::string_view transport, const driverupgrade::KubeConfig& config,
                                   const std::string& component) {
  const auto chosen = MakeChosenTransport(transport, config);
  if (!chosen.ok()) return chosen.status();
  const auto requests = std::make_shared<driverupgrade::RequestMeter>();
  const auto metered = driverupgrade::MakeMeteredTransport(*chosen, requests);
  const auto retrying = driverupgrade::MakeRetryingTransport(metered);
  return Connection{.cluster = driverupgrade::MakeRestCluster(retrying, {.event_component = component}),
                    .once = driverupgrade::MakeRestCluster(metered, {.event_component = component}),
                    .objects = std::make_shared<const driverupgrade::ObjectClient>(retrying, component),
                    .readers = std::make_shared<driverupgrade::AccessReview>(retrying, "/rollout"),
                    .requests = requests};
}

}  // namespace examples
