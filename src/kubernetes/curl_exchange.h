// One HTTP exchange with libcurl, which runs on the thread that waits for the response. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_CURL_EXCHANGE_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_CURL_EXCHANGE_H_

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "kubernetes/transport_setup.h"

namespace driverupgrade {

// Separate deleters, because CURL and CURLM are both void.
struct FreeCurlEasy {
  void operator()(CURL* p) const { curl_easy_cleanup(p); }
};
struct FreeCurlMulti {
  void operator()(CURLM* p) const { curl_multi_cleanup(p); }
};
struct FreeCurlList {
  void operator()(curl_slist* p) const { curl_slist_free_all(p); }
};
using CurlList = std::unique_ptr<curl_slist, FreeCurlList>;

// Adds `line` to `list`; throws bad_alloc.
void Append(CurlList& list, const std::string& line);

// One call's state, and the connection that the call leaves open. A handle can be reused regardless of how the call
// ended.
struct CurlHandle {
  std::unique_ptr<CURLM, FreeCurlMulti> multi = {};
  std::unique_ptr<CURL, FreeCurlEasy> easy = {};  // destroyed first, because it may refer to a connection of `multi`

  // Throws bad_alloc.
  static std::unique_ptr<CurlHandle> Create();
};

// Receives the response. The functions return false to end the exchange, and may throw.
class CurlReceiver {
 public:
  virtual ~CurlReceiver() = default;
  // Called once with the head of the final response.
  virtual bool OnHead(const HttpResponse& head) = 0;
  virtual bool OnBytes(std::string_view bytes) = 0;
};

// Runs one exchange. Must be used only once.
class CurlExchange {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class End { kComplete, kFailed, kReceiver, kHeadersTooLong, kException, kStopped, kTimedOut };
  struct Times {
    Time deadline = Time::max();
    absl::Duration until_head = absl::InfiniteDuration();
    absl::Duration between_bytes = absl::InfiniteDuration();
  };

  // All arguments must outlive the exchange.
  CurlExchange(CurlHandle& handle, const TransportSetup& setup, CurlReceiver& receiver)
      : handle_(handle), setup_(setup), receiver_(receiver) {}

  // `target` is the encoded path and query.
  End Run(const HttpRequest& request, const std::string& target, const Secret& token, const Times& times,
          const std::stop_token& stop);

  HttpResponse& head() { return head_; }
  bool has_head() const { return head_done_; }
  // Returns true if a connection has started to send the request, so the server may have seen the request.
  bool sent() const { return sent_; }
  // The library's error code and message, and the errno of the failure. Valid after kFailed.
  CURLcode code() const { return code_; }
  std::string_view words() const { return words_.data(); }
  int system_error() const;

 private:
  void Prepare(const HttpRequest& request, const std::string& target, const Secret& token);
  void PrepareBody(const HttpRequest& request);
  void PrepareConnection();
  void PrepareCallbacks();
  End Loop(const Times& times, const std::stop_token& stop);
  Time Until(const Times& times) const;
  bool MayGoOn(const Times& times);
  bool OnHeaderLine(std::string_view line);
  bool AddHeader(std::string_view name, std::string_view value);
  template <typename F>
  bool Guard(F call);

  static std::size_t HeaderCallback(char* data, std::size_t, std::size_t size, void* self);
  static std::size_t BodyCallback(char* data, std::size_t, std::size_t size, void* self);
  static int BeforeRequestCallback(void* self, char*, char*, int, int);
  static CURLcode TlsContextCallback(CURL*, void* context, void* self);

  CurlHandle& handle_;
  const TransportSetup& setup_;
  CurlReceiver& receiver_;
  const Times* times_ = nullptr;
  HttpVerb verb_ = HttpVerb::kGet;
  CurlList header_lines_;
  CurlList connect_to_;
  std::array<char, CURL_ERROR_SIZE> words_ = {};
  CURLcode code_ = CURLE_OK;
  bool sent_ = false;
  bool head_done_ = false;
  HttpResponse head_;
  std::size_t header_size_ = 0;
  Time began_ = {};
  Time heard_at_ = {};
  End aborted_ = End::kComplete;  // reason why a callback ended the exchange
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_CURL_EXCHANGE_H_
