// One HTTP exchange on cpprestsdk, between the thread that wants the answer and the library's pool thread.
// Private to src/kubernetes.
//
// Everything that touches the connection happens on the pool thread: the request is started there, and a
// cancel is posted there. The library's own way, to start and to cancel from any thread, races with its TLS
// stream and crashes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_CALL_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_CALL_H_

#include <cpprest/http_client.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade {

// Why an exchange ended without a complete answer, as the library tells it.
struct CpprestFailure {
  // A value of errno, of asio, of netdb or of OpenSSL: the library does not say which.
  int code = 0;
  std::string text = {};
};

// Shared by its caller and the pool; whichever leaves last destroys it. The caller's functions are for one
// thread.
class CpprestCall : public std::enable_shared_from_this<CpprestCall> {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Mode {
    kCollect,  // The body gathers here, up to a limit.
    kLend,     // Each piece is lent to the caller, and the connection waits for its return.
  };
  enum class Event { kHead, kPiece, kDone, kStopped, kTimedOut };

  // All calls of a transport share one `lease`, by which SettleCalls sees when they are gone.
  CpprestCall(Mode mode, std::size_t body_size_max, std::shared_ptr<void> lease)
      : mode_(mode), body_size_max_(body_size_max), lease_(std::move(lease)) {}

  // Sends `request` through `client`. Once.
  void Start(web::http::client::http_client client, web::http::http_request request);

  // Waits for what comes next, until `until`. kHead comes once, before any piece. After kPiece the caller
  // must call ReturnPiece or Abandon.
  Event Next(Time until);
  // Makes Next return kStopped. From any thread.
  void RequestStop();
  // Ends the exchange, and waits for a moment until the library has let go of it, so that usually nothing of
  // it is left when the caller returns. It may not let go: a name look-up cannot be interrupted.
  void Abandon();

  // Between kHead and the end of the call.
  HttpResponse& head() { return head_; }
  // Between kPiece and ReturnPiece.
  std::string_view piece() const { return piece_; }
  void ReturnPiece();

  // After kDone, or after Abandon if `done`.
  bool done() const;
  bool failed() const { return failed_; }
  bool overflowed() const { return overflowed_; }
  const CpprestFailure& failure() const { return failure_; }
  std::string& body() { return body_; }
  // A request was written whole to some connection: the server may have seen it.
  bool sent() const;
  // The pool has got to it; before that, Abandon prevents it.
  bool started() const;

 private:
  friend class CpprestBody;
  bool MayStart();
  pplx::task<std::size_t> OnData(const std::uint8_t* data, std::size_t size);
  void OnHead(const web::http::http_response& response);
  void OnDone(std::exception_ptr error);

  const Mode mode_;
  const std::size_t body_size_max_;
  const std::shared_ptr<void> lease_;
  pplx::cancellation_token_source cancel_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_requested_ = false;
  bool started_ = false;
  bool abandoned_ = false;
  bool sent_ = false;
  bool head_ready_ = false;
  bool head_taken_ = false;
  HttpResponse head_;
  bool lent_ = false;
  std::string_view piece_;
  pplx::task_completion_event<std::size_t> returned_;
  std::string body_;
  bool overflowed_ = false;
  bool done_ = false;
  bool failed_ = false;
  CpprestFailure failure_;
};

// Waits for a moment until the pool has let go of all calls that hold `lease`: what it has not done when the
// process ends is never done, nor freed.
void SettleCalls(const std::shared_ptr<void>& lease);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_CALL_H_
