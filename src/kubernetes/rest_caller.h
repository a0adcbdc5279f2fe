// What the operations of RestCluster are made of: one request, a list of pages, a watch; and what their answers mean.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_REST_CALLER_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_REST_CALLER_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/watch.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "kubernetes/rest_cluster_status.h"
#include "kubernetes/rest_path.h"
#include "kubernetes/watch_lines.h"

namespace driverupgrade::inline v1::internal {

// `attempted` starts every error: "patch node gpu-7". Thread-safe if the transport is.
class RestCaller {
 public:
  // `page_size`: 0 asks for all at once.
  RestCaller(std::shared_ptr<HttpTransport> transport, int page_size)
      : transport_(std::move(transport)), page_size_(page_size) {}

  // The answer, whatever its HTTP status.
  absl::StatusOr<HttpResponse> Send(const CallContext& context, std::string_view attempted,
                                    const HttpRequest& request) const {
    absl::StatusOr<HttpResponse> response = transport_->Send(context, request);
    if (!response.ok()) return TransportFailure(attempted, response.status());
    return response;
  }

  // The object that the answer is.
  template <typename T>
  absl::StatusOr<T> SendForObject(const CallContext& context, std::string_view attempted,
                                  const HttpRequest& request) const {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
    if (!IsSuccess(response)) return FailureOf(attempted, request.verb, response);
    absl::StatusOr<T> object = ParseObject<T>(response.body);
    if (!object.ok()) return NotUnderstood(attempted, object.status());
    return object;
  }

  // The same of a request that changes an object of that UID and version, which are in its body.
  template <typename T>
  absl::StatusOr<T> SendChange(const CallContext& context, std::string_view attempted, const std::string& uid,
                               const std::string& resource_version, const HttpRequest& request) const;

  // All pages as one, with the version they were read at. Begins anew, once, if the server drops the snapshot in
  // between (api-A9).
  template <typename T>
  absl::StatusOr<ListPage<T>> List(const CallContext& context, std::string_view attempted, std::string path,
                                   Query query, OnUnreadable on_unreadable = OnUnreadable::kFail) const {
    if (page_size_ > 0) query.emplace_back("limit", std::to_string(page_size_));
    const HttpRequest request{.path = std::move(path), .query = std::move(query)};
    bool expired = false;
    absl::StatusOr<ListPage<T>> all = ListOnce<T>(context, attempted, request, on_unreadable, expired);
    if (expired) all = ListOnce<T>(context, attempted, request, on_unreadable, expired);
    return all;
  }

  // A list if `params` wants one, then the changes since. The selectors are in `query`.
  template <typename T>
  absl::Status Watch(const CallContext& context, std::string_view attempted, const std::string& path, Query query,
                     const WatchParams& params, WatchSink<T>& sink) const;

 private:
  // Five million objects at 500 a page: a server that goes on beyond this has lost its way.
  static constexpr int kPageCountMax = 10'000;

  template <typename T>
  absl::StatusOr<ListPage<T>> ReadPage(const CallContext& context, std::string_view attempted,
                                       const HttpRequest& request, OnUnreadable on_unreadable, bool& expired) const;
  // Sets `expired` if the server has dropped the snapshot after the first page.
  template <typename T>
  absl::StatusOr<ListPage<T>> ListOnce(const CallContext& context, std::string_view attempted, const HttpRequest& first,
                                       OnUnreadable on_unreadable, bool& expired) const;
  // What is there when a watch begins, and the version to go on from, which is not empty.
  template <typename T>
  absl::StatusOr<ListPage<T>> Begin(const CallContext& context, std::string_view attempted, const std::string& path,
                                    Query query, const WatchParams& params) const;

  const std::shared_ptr<HttpTransport> transport_;
  const int page_size_;
};

template <typename T>
absl::StatusOr<T> RestCaller::SendChange(const CallContext& context, std::string_view attempted, const std::string& uid,
                                         const std::string& resource_version, const HttpRequest& request) const {
  if (uid.empty()) return Refuse(attempted, "no uid given");
  if (resource_version.empty()) return Refuse(attempted, "no resource version given");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
  if (!IsSuccess(response)) {
    absl::Status failure = FailureOf(attempted, request.verb, response);
    return SaysOtherUid(response) ? absl::AbortedError(failure.message()) : failure;
  }
  absl::StatusOr<T> object = ParseObject<T>(response.body);
  if (!object.ok()) return NotUnderstood(attempted, object.status());
  return object;
}

template <typename T>
absl::StatusOr<ListPage<T>> RestCaller::ReadPage(const CallContext& context, std::string_view attempted,
                                                 const HttpRequest& request, OnUnreadable on_unreadable,
                                                 bool& expired) const {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
  expired = response.status == 410;
  if (!IsSuccess(response)) return FailureOf(attempted, request.verb, response);
  absl::StatusOr<ListPage<T>> page = ParseList<T>(response.body, on_unreadable);
  if (!page.ok()) return NotUnderstood(attempted, page.status());
  return page;
}

template <typename T>
absl::StatusOr<ListPage<T>> RestCaller::ListOnce(const CallContext& context, std::string_view attempted,
                                                 const HttpRequest& first, OnUnreadable on_unreadable,
                                                 bool& expired) const {
  absl::StatusOr<ListPage<T>> all = ReadPage<T>(context, attempted, first, on_unreadable, expired);
  // That of the first page is the answer.
  expired = false;
  for (int page_count = 1; all.ok() && !all->continue_token.empty(); ++page_count) {
    HttpRequest request = first;
    request.query.emplace_back("continue", all->continue_token);
    absl::StatusOr<ListPage<T>> page = ReadPage<T>(context, attempted, request, on_unreadable, expired);
    if (!page.ok()) return page.status();
    std::move(page->items.begin(), page->items.end(), std::back_inserter(all->items));
    const bool more = !page->continue_token.empty();
    if (page->continue_token == all->continue_token || (more && page_count == kPageCountMax)) {
      return absl::UnavailableError(fmt::format("{}: the server's list has no end", attempted));
    }
    all->continue_token = std::move(page->continue_token);
  }
  return all;
}

template <typename T>
absl::StatusOr<ListPage<T>> RestCaller::Begin(const CallContext& context, std::string_view attempted,
                                              const std::string& path, Query query, const WatchParams& params) const {
  absl::StatusOr<ListPage<T>> page;
  if (params.list) {
    page = List<T>(context, attempted, path, std::move(query), params.on_unreadable);
  } else {
    // One object is the least that can be asked for.
    query.emplace_back("limit", "1");
    bool expired = false;
    page = ReadPage<T>(context, attempted, {.path = path, .query = std::move(query)}, params.on_unreadable, expired);
    if (page.ok()) page->items.clear();
  }
  if (page.ok() && page->resource_version.empty()) {
    return NotUnderstood(attempted, absl::InvalidArgumentError("the list has no resource version"));
  }
  return page;
}

// The server takes 0 for no limit, and multiplies into 64 bits of nanoseconds.
inline std::string WatchSeconds(absl::Duration timeout) {
  const absl::Duration longest = absl::Seconds(std::numeric_limits<std::int32_t>::max());
  const absl::Duration clamped = std::clamp(timeout, absl::Seconds(1), longest);
  return std::to_string(absl::ToInt64Seconds(absl::Ceil(clamped, absl::Seconds(1))));
}

template <typename T>
absl::Status RestCaller::Watch(const CallContext& context, std::string_view attempted, const std::string& path,
                               Query query, const WatchParams& params, WatchSink<T>& sink) const {
  std::string version = params.resource_version;
  if (version.empty()) {
    absl::StatusOr<ListPage<T>> page = Begin<T>(context, fmt::format("{}: list", attempted), path, query, params);
    if (!page.ok()) return page.status();
    version = page->resource_version;
    if (!sink.OnList(std::move(page->items), version)) return absl::OkStatus();
  }
  query.insert(query.end(), {{"watch", "1"},
                             {"resourceVersion", std::move(version)},
                             {"allowWatchBookmarks", "true"},
                             {"timeoutSeconds", WatchSeconds(params.timeout)}});
  const HttpRequest request{.path = path, .query = std::move(query)};
  WatchLines<T> lines(attempted, sink, params.on_unreadable);
  const absl::StatusOr<HttpResponse> response = transport_->Stream(context, request, lines);
  if (!lines.status().ok()) return lines.status();
  if (!response.ok()) return TransportFailure(attempted, response.status());
  return IsSuccess(*response) ? absl::OkStatus() : WatchFailureOf(attempted, *response);
}

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REST_CALLER_H_
