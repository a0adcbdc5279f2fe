// One HTTP exchange with cpprestsdk, shared by the thread that waits for the response and the library's pool thread.
// Private to src/kubernetes.
//
// Everything that touches the connection happens on the pool thread: requests are started and canceled only there. The
// library allows any thread to start and cancel requests, but doing so races with the TLS stream and crashes.
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

// The reason why an exchange ended without a complete response, as reported by the library.
struct CpprestFailure {
  // An error code from errno, asio, netdb or OpenSSL. The library does not report which.
  int code = 0;
  std::string text = {};
};

// Shared by its caller and the pool, and destroyed by the last owner. The caller must use it from one thread.
class CpprestCall : public std::enable_shared_from_this<CpprestCall> {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Mode {
    kCollect,  // The call collects the body, up to a limit.
    kLend,     // Each piece is lent to the caller, and the connection waits until the caller returns the piece.
  };
  enum class Event { kHead, kPiece, kDone, kStopped, kTimedOut };

  // All calls of a transport share one `lease`, by which SettleCalls detects that all calls have been destroyed.
  CpprestCall(Mode mode, std::size_t body_size_max, std::shared_ptr<void> lease)
      : mode_(mode), body_size_max_(body_size_max), lease_(std::move(lease)) {}

  // Sends `request` through `client`. Must be called at most once.
  void Start(web::http::client::http_client client, web::http::http_request request);

  // Waits until `until` for the next event. Returns kHead once, before any piece. After kPiece, the caller must call
  // ReturnPiece or Abandon.
  Event Next(Time until);
  // Makes Next return kStopped. Callable from any thread.
  void RequestStop();
  // Ends the exchange, and waits briefly until the library has released the exchange, so that usually none of its state
  // remains. The library may take longer, because a name lookup cannot be interrupted.
  void Abandon();

  // Valid from kHead until the end of the call.
  HttpResponse& head() { return head_; }
  // Valid between kPiece and ReturnPiece.
  std::string_view piece() const { return piece_; }
  void ReturnPiece();

  // The following functions are valid after kDone, or after Abandon if done() is true.
  bool done() const;
  bool failed() const { return failed_; }
  bool overflowed() const { return overflowed_; }
  const CpprestFailure& failure() const { return failure_; }
  std::string& body() { return body_; }
  // Returns true if the request was completely written to a connection, so the server may have seen the request.
  bool sent() const;
  // Returns true if the pool has started the call. Until then, Abandon prevents the start.
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

// Waits briefly until the pool has released all calls that share `lease`. Work that remains when the process exits is
// neither done nor freed.
void SettleCalls(const std::shared_ptr<void>& lease);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_CALL_H_
