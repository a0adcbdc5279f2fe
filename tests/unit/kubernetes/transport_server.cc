#include "transport_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

namespace driverupgrade::testing_support {
namespace {

void Require(bool ok) {
  if (!ok) std::abort();  // The test itself is broken.
}

HttpVerb ParseVerb(std::string_view text) {
  for (HttpVerb verb : {HttpVerb::kGet, HttpVerb::kPost, HttpVerb::kPut, HttpVerb::kPatch, HttpVerb::kDelete}) {
    if (ToString(verb) == text) return verb;
  }
  Require(false);
  return HttpVerb::kGet;
}

std::string Decode(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result.push_back(text[i]);
      continue;
    }
    result.push_back(static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)));
    i += 2;
  }
  return result;
}

// Returns the part of `text` before `end` and removes that part and `end` from `text`.
std::string_view Take(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view result = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return result;
}

std::string HeaderLines(const HttpResponse& response) {
  std::string lines;
  for (const auto& [name, value] : response.headers) lines += fmt::format("{}: {}\r\n", name, value);
  return lines;
}

// Writes the lines as chunks.
class ChunkSink : public LineSink {
 public:
  explicit ChunkSink(Connection& connection) : connection_(connection) {}
  void OnOpen(const HttpResponse& head) override {
    opened_ = true;
    connection_.Write(fmt::format("HTTP/1.1 {} X\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n{}\r\n",
                                  head.status, HeaderLines(head)));
  }
  bool OnLine(std::string_view line) override {
    if (!opened_) OnOpen({.status = 200});
    return connection_.WriteChunk(fmt::format("{}\n", line));
  }
  bool opened() const { return opened_; }

 private:
  Connection& connection_;
  bool opened_ = false;
};

}  // namespace

HttpRequest ParseRequest(const std::string& text) {
  std::string_view rest = text;
  HttpRequest request{.verb = ParseVerb(Take(rest, " "))};
  std::string_view target = Take(rest, " ");
  request.path = std::string(Take(target, "?"));
  while (!target.empty()) {
    std::string_view pair = Take(target, "&");
    const std::string name = Decode(Take(pair, "="));
    request.query.emplace_back(name, Decode(pair));
  }
  Take(rest, "\r\n");
  std::string_view head = Take(rest, "\r\n\r\n");
  while (!head.empty()) {
    std::string_view line = Take(head, "\r\n");
    const std::string_view name = Take(line, ":");
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (name == "Content-Type") request.content_type = std::string(line);
  }
  request.body = std::string(rest);
  return request;
}

TransportServer::TransportServer(std::shared_ptr<HttpTransport> behind)
    : behind_(std::move(behind)),
      server_([this](Connection& connection, const std::string& text) { return Serve(connection, text); }) {}

bool TransportServer::Serve(Connection& connection, const std::string& text) {
  const HttpRequest request = ParseRequest(text);
  const bool is_watch = std::any_of(request.query.begin(), request.query.end(),
                                    [](const auto& parameter) { return parameter.first == "watch"; });
  if (is_watch) return ServeStream(connection, request);
  absl::StatusOr<HttpResponse> response;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    response = behind_->Send({}, request);
  }
  return response.ok() && connection.Answer(response->status, response->body, HeaderLines(*response));
}

bool TransportServer::ServeStream(Connection& connection, const HttpRequest& request) {
  // The client ends a watch by disconnecting.
  std::stop_source gone;
  std::thread watcher([&] {
    connection.WaitForClose();
    gone.request_stop();
  });
  ChunkSink sink(connection);
  const absl::StatusOr<HttpResponse> response = behind_->Stream({.stop = gone.get_token()}, request, sink);
  if (response.ok() && !sink.opened() && response->status / 100 == 2) sink.OnOpen(*response);
  if (response.ok() && sink.opened()) connection.WriteChunk("");
  if (response.ok() && !sink.opened()) connection.Answer(response->status, response->body, HeaderLines(*response));
  connection.Shutdown();
  watcher.join();
  return false;
}

}  // namespace driverupgrade::testing_support
