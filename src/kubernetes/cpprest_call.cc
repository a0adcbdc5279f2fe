#include "kubernetes/cpprest_call.h"

#include <cpprest/astreambuf.h>
#include <pplx/threadpool.h>

#include <climits>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

namespace driverupgrade {
namespace {

constexpr std::chrono::milliseconds kLetGoMax{250};
constexpr std::chrono::seconds kSettleMax{2};

template <typename T>
pplx::task<T> Fail(const char* why) {
  return pplx::task_from_exception<T>(std::runtime_error(why));
}

boost::asio::io_service& Pool() { return crossplat::threadpool::shared_instance().service(); }

}  // namespace

// The write-only buffer to which the library writes the response body. Only _putn has an effect: it completes
// asynchronously, and thus applies back-pressure without blocking a thread.
class CpprestBody : public concurrency::streams::details::streambuf_state_manager<std::uint8_t> {
 public:
  explicit CpprestBody(std::shared_ptr<CpprestCall> call)
      : streambuf_state_manager(std::ios_base::out), call_(std::move(call)) {}

  pplx::task<std::size_t> putn_nocopy(const std::uint8_t* data, std::size_t size) override {
    return call_->OnData(data, size);
  }
  pplx::task<void> close(std::ios_base::openmode) override { return pplx::task_from_result(); }
  pplx::task<void> close(std::ios_base::openmode, std::exception_ptr) override { return pplx::task_from_result(); }
  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  std::size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(std::size_t, std::ios_base::openmode) override {}
  std::size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return static_cast<pos_type>(traits::eof());
  }
  bool acquire(std::uint8_t*& pointer, std::size_t& count) override {
    pointer = nullptr;
    count = 0;
    return false;
  }
  void release(std::uint8_t*, std::size_t) override {}

 protected:
  pplx::task<std::size_t> _putn(const std::uint8_t* data, std::size_t size) override {
    return call_->OnData(data, size);
  }
  pplx::task<int_type> _putc(std::uint8_t) override { return Fail<int_type>("not a character stream"); }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  std::uint8_t* _alloc(std::size_t) override { return nullptr; }
  void _commit(std::size_t) override {}
  pplx::task<int_type> _bumpc() override { return Fail<int_type>("write-only"); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return Fail<int_type>("write-only"); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return Fail<int_type>("write-only"); }
  pplx::task<int_type> _ungetc() override { return Fail<int_type>("write-only"); }
  pplx::task<std::size_t> _getn(std::uint8_t*, std::size_t) override { return Fail<std::size_t>("write-only"); }
  std::size_t _scopy(std::uint8_t*, std::size_t) override { return 0; }

 private:
  const std::shared_ptr<CpprestCall> call_;
};

void CpprestCall::Start(web::http::client::http_client client, web::http::http_request request) {
  auto self = shared_from_this();
  request.set_response_stream(concurrency::streams::ostream(
      concurrency::streams::streambuf<std::uint8_t>(std::make_shared<CpprestBody>(self))));
  // The library calls the handler when the header block has been written, and again for the body. If the server has
  // closed an idle connection, the library writes the request again, and may then fail to connect. The first copy of
  // the request may have been sent nevertheless, so `sent_` is recorded here.
  request.set_progress_handler([self](web::http::message_direction::direction direction, utility::size64_t) {
    if (direction != web::http::message_direction::upload) return;
    const std::lock_guard<std::mutex> lock(self->mutex_);
    self->sent_ = true;
  });
  boost::asio::post(Pool(), [self, client, request]() mutable {
    if (!self->MayStart()) return;
    try {
      client.request(request, self->cancel_.get_token())
          .then([self](web::http::http_response response) {
            self->OnHead(response);
            return response.content_ready();
          })
          // This task must always come last, because an exception that no task observes ends the process.
          .then([self](pplx::task<web::http::http_response> whole) {
            try {
              whole.get();
              self->OnDone(nullptr);
            } catch (...) {
              self->OnDone(std::current_exception());
            }
          });
    } catch (...) {
      self->OnDone(std::current_exception());
    }
  });
}

bool CpprestCall::MayStart() {
  const std::lock_guard<std::mutex> lock(mutex_);
  started_ = !abandoned_;
  if (started_) return true;
  failed_ = true;
  failure_ = {.text = "abandoned"};
  done_ = true;
  changed_.notify_all();
  return false;
}

void CpprestCall::OnHead(const web::http::http_response& response) {
  const std::lock_guard<std::mutex> lock(mutex_);
  head_.status = response.status_code();
  for (const auto& [name, value] : response.headers()) head_.headers.emplace(name, value);
  head_ready_ = true;
  changed_.notify_all();
}

pplx::task<std::size_t> CpprestCall::OnData(const std::uint8_t* data, std::size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (abandoned_) return Fail<std::size_t>("abandoned");
  // The library stores a chunk size in an int, so a negative size arrives here as a huge number.
  if (size > INT_MAX) return Fail<std::size_t>("malformed chunk size");
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (mode_ == Mode::kCollect) {
    if (size > body_size_max_ - body_.size()) {
      overflowed_ = true;
      return Fail<std::size_t>("body too large");
    }
    try {
      body_.append(bytes);
    } catch (const std::exception&) {
      return Fail<std::size_t>("no memory for the body");
    }
    return pplx::task_from_result(size);
  }
  piece_ = bytes;
  lent_ = true;
  returned_ = {};
  changed_.notify_all();
  return pplx::create_task(returned_);
}

void CpprestCall::OnDone(std::exception_ptr error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failed_ = error != nullptr;
  try {
    if (failed_) std::rethrow_exception(error);
  } catch (const web::http::http_exception& e) {
    failure_ = {.code = e.error_code().value(), .text = e.what()};
  } catch (const std::exception& e) {
    failure_ = {.text = e.what()};
  } catch (...) {
    failure_ = {.text = "unknown exception"};
  }
  done_ = true;
  changed_.notify_all();
}

CpprestCall::Event CpprestCall::Next(Time until) {
  std::unique_lock<std::mutex> lock(mutex_);
  // If a piece arrives before the head, Next returns the head first.
  const auto ready = [this] { return stop_requested_ || done_ || (head_ready_ && (!head_taken_ || lent_)); };
  changed_.wait_until(lock, until, ready);
  if (head_ready_ && !head_taken_) {
    head_taken_ = true;
    return Event::kHead;
  }
  if (done_) return Event::kDone;
  if (stop_requested_) return Event::kStopped;
  if (std::chrono::steady_clock::now() >= until) return Event::kTimedOut;
  return lent_ ? Event::kPiece : Event::kTimedOut;
}

void CpprestCall::RequestStop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stop_requested_ = true;
  changed_.notify_all();
}

void CpprestCall::ReturnPiece() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::size_t size = piece_.size();
  const auto returned = returned_;
  lent_ = false;
  piece_ = {};
  lock.unlock();
  returned.set(size);
}

void CpprestCall::Abandon() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (done_ || abandoned_) return;
  abandoned_ = true;
  const bool lent = std::exchange(lent_, false);
  const auto returned = returned_;
  piece_ = {};
  lock.unlock();
  if (lent) {
    // Until the piece is returned, the library waits, and the connection stays idle. The exception makes the library
    // close the connection on its own thread.
    returned.set_exception(std::make_exception_ptr(std::runtime_error("abandoned")));
  } else {
    boost::asio::post(Pool(), [self = shared_from_this()] { self->cancel_.cancel(); });
  }
  lock.lock();
  changed_.wait_for(lock, kLetGoMax, [this] { return done_; });
}

void SettleCalls(const std::shared_ptr<void>& lease) {
  const auto until = std::chrono::steady_clock::now() + kSettleMax;
  while (lease.use_count() > 1 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The code that freed the last call may still be running, or may have queued more work.
  for (int i = 0; i < 2; ++i) {
    auto passed = std::make_shared<std::promise<void>>();
    boost::asio::post(Pool(), [passed] { passed->set_value(); });
    passed->get_future().wait_until(until);
  }
}

bool CpprestCall::done() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return done_;
}

bool CpprestCall::started() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return started_;
}

bool CpprestCall::sent() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sent_;
}

}  // namespace driverupgrade
