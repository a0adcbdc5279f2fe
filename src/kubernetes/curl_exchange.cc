#include "kubernetes/curl_exchange.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

#include "fmt/format.h"
#include "kubernetes/transport_errors.h"

namespace driverupgrade {
namespace {

using Steady = std::chrono::steady_clock;

// Time limit for establishing a connection (api-A19).
constexpr long kConnectSeconds = 30;
constexpr long kKeepAliveSeconds = 30;
constexpr long kIdleSecondsMax = 60;
constexpr long kBufferBytes = 64L * 1024;
constexpr std::chrono::seconds kPollMax{60};

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

// Parses "HTTP/1.1 200 OK". Returns 0 if there is no status.
int StatusOf(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return 0;
  line.remove_prefix(space + 1);
  int status = 0;
  std::from_chars(line.data(), line.data() + std::min<std::size_t>(line.size(), 3), status);
  return status;
}

std::string Bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
}

template <typename T>
void Set(CURL* easy, CURLoption option, T value) {
  // MakeCurlTransport has checked the library's version, so all options are known. The only possible error is lack of
  // memory.
  if (curl_easy_setopt(easy, option, value) != CURLE_OK) throw std::bad_alloc();
}

// Adds the easy handle to the multi handle during a transfer. A connection that cannot be reused is closed at the end.
class Attached {
 public:
  explicit Attached(CurlHandle& handle) : handle_(handle) {
    if (curl_multi_add_handle(handle_.multi.get(), handle_.easy.get()) != CURLM_OK) throw std::bad_alloc();
  }
  ~Attached() { curl_multi_remove_handle(handle_.multi.get(), handle_.easy.get()); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  CurlHandle& handle_;
};

}  // namespace

void Append(CurlList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)list.release();  // now part of the longer list
  list.reset(longer);
}

std::unique_ptr<CurlHandle> CurlHandle::Create() {
  auto handle = std::make_unique<CurlHandle>();
  handle->multi.reset(curl_multi_init());
  handle->easy.reset(curl_easy_init());
  if (handle->multi == nullptr || handle->easy == nullptr) throw std::bad_alloc();
  curl_multi_setopt(handle->multi.get(), CURLMOPT_MAXCONNECTS, 1L);
  return handle;
}

void CurlExchange::PrepareConnection() {
  CURL* const easy = handle_.easy.get();
  Set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  Set(easy, CURLOPT_FOLLOWLOCATION, 0L);  // A redirect would send the token to any host.
  Set(easy, CURLOPT_NOSIGNAL, 1L);
  Set(easy, CURLOPT_QUICK_EXIT, 1L);  // Lets a finished call return without waiting for a name lookup.
  Set(easy, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  Set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  Set(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
  Set(easy, CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
  Set(easy, CURLOPT_MAXAGE_CONN, kIdleSecondsMax);
  Set(easy, CURLOPT_BUFFERSIZE, kBufferBytes);
  // Empty strings disable the proxy environment variables; null would enable them.
  const std::string proxy = setup_.proxy.has_value() ? setup_.proxy->ToString() : std::string();
  Set(easy, CURLOPT_PROXY, proxy.c_str());
  Set(easy, CURLOPT_NOPROXY, "");
  Set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (setup_.tls == nullptr) return;
  const long verifies = setup_.tls->verifies() ? 1 : 0;
  Set(easy, CURLOPT_SSL_VERIFYPEER, verifies);
  Set(easy, CURLOPT_SSL_VERIFYHOST, verifies * 2);
  // TlsMaterial, which is parsed once, provides the trusted certificates, so connections do not read files.
  Set(easy, CURLOPT_CAINFO, static_cast<char*>(nullptr));
  Set(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr));
  // A resumed session would skip the check of the certificate, which may have expired in the meantime.
  Set(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
  Set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  Set(easy, CURLOPT_SSL_CTX_FUNCTION, &CurlExchange::TlsContextCallback);
  Set(easy, CURLOPT_SSL_CTX_DATA, this);
}

void CurlExchange::PrepareCallbacks() {
  CURL* const easy = handle_.easy.get();
  Set(easy, CURLOPT_ERRORBUFFER, words_.data());
  Set(easy, CURLOPT_HEADERFUNCTION, &CurlExchange::HeaderCallback);
  Set(easy, CURLOPT_HEADERDATA, this);
  Set(easy, CURLOPT_WRITEFUNCTION, &CurlExchange::BodyCallback);
  Set(easy, CURLOPT_WRITEDATA, this);
  Set(easy, CURLOPT_PREREQFUNCTION, &CurlExchange::BeforeRequestCallback);
  Set(easy, CURLOPT_PREREQDATA, this);
}

void CurlExchange::PrepareBody(const HttpRequest& request) {
  CURL* const easy = handle_.easy.get();
  const bool has_body = !request.body.empty();
  if (has_body || request.verb == HttpVerb::kPost || request.verb == HttpVerb::kPut ||
      request.verb == HttpVerb::kPatch) {
    Set(easy, CURLOPT_POST, 1L);
    Set(easy, CURLOPT_POSTFIELDS, request.body.c_str());  // Not copied.
    Set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    Append(header_lines_, "Expect:");
    Append(header_lines_, has_body ? fmt::format("Content-Type: {}", request.content_type) : "Content-Type:");
  }
  // CURLOPT_POST also sets the method, so it must be set before CURLOPT_CUSTOMREQUEST.
  Set(easy, CURLOPT_CUSTOMREQUEST, std::string(ToString(request.verb)).c_str());
}

void CurlExchange::Prepare(const HttpRequest& request, const std::string& target, const Secret& token) {
  CURL* const easy = handle_.easy.get();
  curl_easy_reset(easy);  // Keeps the connection.
  verb_ = request.verb;
  const ServerUrl& url = setup_.url;
  const std::string& name = setup_.tls == nullptr ? url.host : setup_.tls->peer_name();
  if (name != url.host) {
    // The library takes SNI and the name to verify from the URL.
    Append(connect_to_, fmt::format("::{}:{}", Bracketed(url.host), url.port));
    Set(easy, CURLOPT_CONNECT_TO, connect_to_.get());
  }
  Set(easy, CURLOPT_PATH_AS_IS, 1L);
  Set(easy, CURLOPT_URL,
      fmt::format("{}://{}:{}{}{}", url.https ? "https" : "http", Bracketed(name), url.port, url.path, target).c_str());
  PrepareBody(request);
  for (const auto& [name, value] : request.headers) Append(header_lines_, fmt::format("{}: {}", name, value));
  Append(header_lines_, "Accept: application/json");
  Append(header_lines_, fmt::format("User-Agent: {}", setup_.options.user_agent));
  if (!token.empty()) Append(header_lines_, "Authorization: Bearer " + token.Reveal());
  Set(easy, CURLOPT_HTTPHEADER, header_lines_.get());
  PrepareConnection();
  PrepareCallbacks();
}

CurlExchange::End CurlExchange::Run(const HttpRequest& request, const std::string& target, const Secret& token,
                                    const Times& times, const std::stop_token& stop) {
  times_ = &times;
  Prepare(request, target, token);
  const Attached attached(handle_);
  const std::stop_callback on_stop(stop, [this] { curl_multi_wakeup(handle_.multi.get()); });
  began_ = heard_at_ = Steady::now();
  return Loop(times, stop);
}

CurlExchange::Time CurlExchange::Until(const Times& times) const {
  // Data that arrives before the head does not extend the wait for the head.
  const absl::Duration patience = head_done_ ? times.between_bytes : times.until_head;
  if (patience > absl::Hours(24 * 365)) return times.deadline;
  return std::min(times.deadline, (head_done_ ? heard_at_ : began_) + absl::ToChronoNanoseconds(patience));
}

CurlExchange::End CurlExchange::Loop(const Times& times, const std::stop_token& stop) {
  CURLM* const multi = handle_.multi.get();
  while (true) {
    int running = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK) throw std::bad_alloc();
    if (aborted_ != End::kComplete) return aborted_;
    if (running == 0) break;
    if (stop.stop_requested()) return End::kStopped;
    const Time now = Steady::now();
    const Time until = Until(times);
    if (now >= until) return End::kTimedOut;
    const auto left = std::min<Steady::duration>(until - now, kPollMax);
    // Returns early at any event, including the wake-up after a stop request.
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(left);
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(whole.count()), nullptr);
  }
  int left = 0;
  const CURLMsg* const message = curl_multi_info_read(multi, &left);
  code_ = message == nullptr ? CURLE_FAILED_INIT : message->data.result;
  return code_ == CURLE_OK && head_done_ ? End::kComplete : End::kFailed;
}

int CurlExchange::system_error() const {
  long error = 0;
  curl_easy_getinfo(handle_.easy.get(), CURLINFO_OS_ERRNO, &error);
  return static_cast<int>(error);
}

bool CurlExchange::AddHeader(std::string_view name, std::string_view value) {
  header_size_ += name.size() + value.size();
  if (header_size_ > setup_.options.header_size_max) {
    aborted_ = End::kHeadersTooLong;
    return false;
  }
  const auto [at, is_new] = head_.headers.emplace(name, value);
  if (!is_new) at->second.append(", ").append(value);
  return true;
}

bool CurlExchange::OnHeaderLine(std::string_view line) {
  if (head_done_) return true;  // A trailer.
  const std::string_view text = Trim(line);
  if (text.empty()) {
    // The final response follows an interim response such as "100 Continue".
    if (head_.status < 200) return true;
    head_done_ = true;
    if (!receiver_.OnHead(head_)) aborted_ = End::kReceiver;
    return aborted_ == End::kComplete;
  }
  if (text.starts_with("HTTP/")) {
    head_ = {.status = StatusOf(text)};
    return true;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || line.front() == ' ' || line.front() == '\t') return true;
  return AddHeader(Trim(text.substr(0, colon)), Trim(text.substr(colon + 1)));
}

// Catches exceptions, because they must not propagate through the library.
template <typename F>
bool CurlExchange::Guard(F call) {
  try {
    const bool more = call();
    heard_at_ = Steady::now();
    return more;
  } catch (...) {
    aborted_ = End::kException;
    return false;
  }
}

// Must be called between pieces of the body, because Loop does not check the clock while the server continuously sends
// data.
bool CurlExchange::MayGoOn(const Times& times) {
  if (Steady::now() < times.deadline) return true;
  aborted_ = End::kTimedOut;
  return false;
}

std::size_t CurlExchange::HeaderCallback(char* data, std::size_t, std::size_t size, void* self) {
  auto* const exchange = static_cast<CurlExchange*>(self);
  return exchange->Guard([&] { return exchange->OnHeaderLine({data, size}); }) ? size : 0;
}

std::size_t CurlExchange::BodyCallback(char* data, std::size_t, std::size_t size, void* self) {
  auto* const exchange = static_cast<CurlExchange*>(self);
  const bool more = exchange->Guard([&] {
    if (!exchange->MayGoOn(*exchange->times_)) return false;
    if (exchange->receiver_.OnBytes({data, size})) return true;
    exchange->aborted_ = End::kReceiver;
    return false;
  });
  return more ? size : 0;
}

// If the server has closed an idle connection, the library sends the request again on a new connection. The server may
// already have acted on the request, so only requests that change nothing may be repeated.
int CurlExchange::BeforeRequestCallback(void* self, char*, char*, int, int) {
  auto* const exchange = static_cast<CurlExchange*>(self);
  if (exchange->sent_ && exchange->verb_ != HttpVerb::kGet) return CURL_PREREQFUNC_ABORT;
  exchange->sent_ = true;
  return CURL_PREREQFUNC_OK;
}

CURLcode CurlExchange::TlsContextCallback(CURL*, void* context, void* self) {
  auto* const tls_context = static_cast<SSL_CTX*>(context);
  // Ignores $SSLKEYLOGFILE, which would make the library write the connection's keys to a file.
  SSL_CTX_set_keylog_callback(tls_context, nullptr);
  const bool applied = static_cast<CurlExchange*>(self)->setup_.tls->Apply(tls_context);
  return applied ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

}  // namespace driverupgrade
