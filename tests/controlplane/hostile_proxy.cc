#include "hostile_proxy.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "driverupgrade/kubernetes/cpprest_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "fmt/format.h"
#include "support.h"

namespace driverupgrade::e2e {
namespace {

using testing_support::Connection;

constexpr std::chrono::milliseconds kDelay{700};
constexpr std::string_view kPage = "<html><body><h1>Please log in</h1></body></html>";

std::shared_ptr<HttpTransport> Connect(const std::filesystem::path& kubeconfig) {
  const absl::StatusOr<KubeConfig> config = KubeConfig::LoadFile(kubeconfig.string());
  if (!config.ok()) throw std::runtime_error(config.status().ToString());
  absl::StatusOr<std::shared_ptr<HttpTransport>> transport = MakeCpprestTransport(*config, {});
  if (!transport.ok()) throw std::runtime_error(transport.status().ToString());
  return *std::move(transport);
}

std::optional<HttpVerb> ParseVerb(std::string_view name) {
  for (const HttpVerb verb : {HttpVerb::kGet, HttpVerb::kPost, HttpVerb::kPut, HttpVerb::kPatch, HttpVerb::kDelete}) {
    if (ToString(verb) == name) return verb;
  }
  return std::nullopt;
}

std::string Decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      decoded += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size() - 1);
    query.emplace_back(Decode(pair.substr(0, equals)), Decode(pair.substr(equals + 1)));
  }
  return query;
}

// Returns the value of the header `name`. `name` must be in lower case.
std::string HeaderOf(std::string_view head, std::string_view name) {
  std::string lower(head);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string line_begin = fmt::format("\r\n{}:", name);
  const std::size_t at = lower.find(line_begin);
  if (at == std::string::npos) return "";
  std::string_view value = head.substr(at + line_begin.size());
  value = value.substr(0, value.find("\r\n"));
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return std::string(value);
}

HttpRequest ParseRequest(std::string_view text) {
  const std::size_t head_end = text.find("\r\n\r\n");
  const std::string_view head = text.substr(0, head_end);
  const std::size_t space = head.find(' ');
  const std::string_view target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  const std::size_t question = target.find('?');
  HttpRequest request;
  const std::optional<HttpVerb> verb = ParseVerb(head.substr(0, space));
  if (!verb) throw std::runtime_error("a request with an unknown verb: " + std::string(head));
  request.verb = *verb;
  request.path = std::string(target.substr(0, question));
  if (question != std::string_view::npos) request.query = ParseQuery(target.substr(question + 1));
  request.content_type = HeaderOf(head, "content-type");
  request.body = std::string(text.substr(head_end + 4));
  return request;
}

bool IsWatch(const HttpRequest& request) {
  return std::any_of(request.query.begin(), request.query.end(),
                     [](const auto& pair) { return pair.first == "watch"; });
}

std::string HeadersOf(const HttpResponse& answer) {
  std::string headers;
  for (const std::string_view name : {"Content-Type", "Retry-After"}) {
    if (const auto value = answer.Header(name)) headers += fmt::format("{}: {}\r\n", name, *value);
  }
  return headers;
}

std::string StatusBody(int code, std::string_view reason) {
  return fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the proxy says so","reason":"{}","code":{}}})",
      reason, code);
}

// Forwards the lines of a watch until the fault plan cuts a line.
class LinesToClient final : public LineSink {
 public:
  LinesToClient(Connection& client, std::function<bool()> cuts) : client_(client), cuts_(std::move(cuts)) {}

  bool begun() const { return begun_; }
  bool broken() const { return broken_; }
  void OnOpen(const HttpResponse&) override {
    begun_ = true;
    broken_ = !client_.Write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  bool OnLine(std::string_view line) override {
    if (!begun_) OnOpen({});
    if (cuts_()) {
      client_.WriteChunk(line.substr(0, line.size() / 2));
      broken_ = true;
    } else {
      broken_ = broken_ || !client_.WriteChunk(std::string(line) + "\n");
    }
    return !broken_;
  }

 private:
  Connection& client_;
  const std::function<bool()> cuts_;
  bool begun_ = false;
  bool broken_ = false;
};

}  // namespace

const char* ToString(Fault fault) {
  switch (fault) {
    case Fault::kNone: return "none";
    case Fault::kReset: return "reset";
    case Fault::kRefusal: return "refusal";
    case Fault::kHtml: return "HTML";
    case Fault::kDelay: return "delay";
    case Fault::kDropAnswer: return "answer dropped";
    case Fault::kCutAnswer: return "answer cut";
    case Fault::kCutStream: return "watch cut";
  }
  return "";
}

HostileProxy::HostileProxy(const std::filesystem::path& kubeconfig, const HostileProxyOptions& options)
    : options_(options),
      api_server_(Connect(kubeconfig)),
      random_(options.seed),
      server_([this](Connection& connection, const std::string& text) { return Handle(connection, text); }) {}

HostileProxy::~HostileProxy() { stop_.request_stop(); }

void HostileProxy::WriteKubeconfig(const std::filesystem::path& file) const {
  constexpr std::string_view kText = R"(apiVersion: v1
kind: Config
current-context: proxy
clusters: [{name: proxy, cluster: {server: "$URL"}}]
users: [{name: any, user: {token: any-token}}]
contexts: [{name: proxy, context: {cluster: proxy, user: any}}]
)";
  WriteFile(file, Substitute(std::string(kText), {{"$URL", server_.url()}}));
}

std::map<Fault, int> HostileProxy::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

Fault HostileProxy::Draw(bool is_watch) {
  const std::lock_guard lock(mutex_);
  Fault fault = Fault::kNone;
  if (random_.Below(1000) < options_.faults_of_1000) {
    fault = random_.Pick(
        {Fault::kReset, Fault::kRefusal, Fault::kHtml, Fault::kDelay, Fault::kDropAnswer, Fault::kCutAnswer});
    // The response to a watch cannot be dropped or cut as a whole; separate faults cut its lines. The connection is
    // reset instead.
    if (is_watch && (fault == Fault::kDropAnswer || fault == Fault::kCutAnswer)) fault = Fault::kReset;
  }
  ++faults_[fault];
  return fault;
}

bool HostileProxy::DrawCut() {
  const std::lock_guard lock(mutex_);
  const bool cut = random_.Below(5000) < options_.faults_of_1000;
  if (cut) ++faults_[Fault::kCutStream];
  return cut;
}

bool HostileProxy::Handle(Connection& connection, const std::string& text) {
  const HttpRequest request = ParseRequest(text);
  const bool is_watch = IsWatch(request);
  const Fault fault = Draw(is_watch);
  switch (fault) {
    case Fault::kReset: return false;
    case Fault::kRefusal: return Refuse(connection);
    case Fault::kHtml: return connection.Answer(200, kPage, "Content-Type: text/html\r\n");
    case Fault::kDelay: std::this_thread::sleep_for(kDelay); break;
    default: break;
  }
  options_.before(request);
  return is_watch ? PassOnWatch(connection, request) : PassOn(connection, request, fault);
}

bool HostileProxy::Refuse(Connection& connection) {
  struct Refusal {
    int code;
    std::string_view reason;
  };
  Refusal refusal{};
  {
    const std::lock_guard lock(mutex_);
    refusal = random_.Pick<Refusal>({{409, "Conflict"},
                                     {410, "Expired"},
                                     {429, "TooManyRequests"},
                                     {500, "InternalError"},
                                     {503, "ServiceUnavailable"}});
  }
  const std::string_view retry_after = refusal.code == 429 ? "Retry-After: 1\r\n" : "";
  return connection.Answer(refusal.code, StatusBody(refusal.code, refusal.reason),
                           fmt::format("Content-Type: application/json\r\n{}", retry_after));
}

bool HostileProxy::PassOn(Connection& connection, const HttpRequest& request, Fault fault) {
  const absl::StatusOr<HttpResponse> answer = api_server_->Send({.stop = stop_.get_token()}, request);
  if (!answer.ok() || fault == Fault::kDropAnswer) return false;
  if (fault != Fault::kCutAnswer) return connection.Answer(answer->status, answer->body, HeadersOf(*answer));
  connection.Write(fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n{}\r\n{}", answer->status, answer->body.size(),
                               HeadersOf(*answer), answer->body.substr(0, answer->body.size() / 2)));
  return false;
}

bool HostileProxy::PassOnWatch(Connection& connection, const HttpRequest& request) {
  LinesToClient lines(connection, [this] { return DrawCut(); });
  const absl::StatusOr<HttpResponse> answer = api_server_->Stream({.stop = stop_.get_token()}, request, lines);
  if (!answer.ok() || lines.broken()) return false;
  if (!lines.begun() && answer->status >= 300) {
    return connection.Answer(answer->status, answer->body, HeadersOf(*answer));
  }
  if (!lines.begun()) lines.OnOpen({});
  return connection.Write("0\r\n\r\n");
}

}  // namespace driverupgrade::e2e
