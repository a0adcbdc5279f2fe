// Sends ClusterFacade requests (individual requests, paged lists and watches), and reads the responses.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_REST_CALLER_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_REST_CALLER_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "kubernetes/list_reader.h"
#include "kubernetes/rest_answer.h"
#include "kubernetes/rest_request.h"
#include "kubernetes/watch_lines.h"

namespace driverupgrade::internal {

// Thread-safe if the transport is.
class RestCaller {
 public:
  // If `page_size` is 0, one request reads a whole list.
  RestCaller(std::shared_ptr<HttpTransport> transport, int page_size)
      : transport_(std::move(transport)), page_size_(page_size) {}

  // Returns the response with any HTTP status.
  absl::StatusOr<HttpResponse> Send(const CallContext& context, const RestRequest& request) const {
    absl::StatusOr<HttpResponse> response = transport_->Send(context, request.http);
    if (!response.ok()) return TransportFailure(request.attempted, response.status());
    return response;
  }

  // Returns all pages as one page, with the version at which they were read.
  template <typename T>
  absl::StatusOr<ListPage<T>> List(const CallContext& context, RestRequest first, OnUnreadable on_unreadable) const {
    ListReader<T> reader(std::move(first), page_size_, on_unreadable);
    while (const RestRequest* next = reader.Next()) {
      DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, *next));
      DRIVERUPGRADE_RETURN_IF_ERROR(reader.Take(response));
    }
    return std::move(reader).Page();
  }

  // Lists the objects if `params` requests a list, and then follows the changes. `collection` requests the objects that
  // `params` selects.
  template <typename T>
  absl::Status Watch(const CallContext& context, const RestRequest& collection, const WatchParams& params,
                     WatchSink<T>& sink) const;

 private:
  // Returns the objects that exist when a watch starts, and the version to continue from, which is not empty.
  template <typename T>
  absl::StatusOr<ListPage<T>> Begin(const CallContext& context, RestRequest collection,
                                    const WatchParams& params) const;

  const std::shared_ptr<HttpTransport> transport_;
  const int page_size_;
};

template <typename T>
absl::StatusOr<ListPage<T>> RestCaller::Begin(const CallContext& context, RestRequest collection,
                                              const WatchParams& params) const {
  collection.attempted += ": list";
  absl::StatusOr<ListPage<T>> page;
  if (params.list) {
    page = List<T>(context, collection, params.on_unreadable);
  } else {
    // Only the version of the list is needed, but a list request cannot ask for fewer than one object.
    collection.http.query.emplace_back("limit", "1");
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, collection));
    page = DecodePage<T>(collection, response, params.on_unreadable);
    if (page.ok()) page->items.clear();
  }
  if (page.ok() && page->resource_version.empty()) {
    return NotUnderstood(collection.attempted, absl::InvalidArgumentError("the list has no resource version"));
  }
  return page;
}

// Limits the range of the timeout, because the server treats 0 as no limit and converts seconds to 64-bit nanoseconds.
inline std::string WatchSeconds(absl::Duration timeout) {
  const absl::Duration longest = absl::Seconds(std::numeric_limits<std::int32_t>::max());
  const absl::Duration clamped = std::clamp(timeout, absl::Seconds(1), longest);
  return std::to_string(absl::ToInt64Seconds(absl::Ceil(clamped, absl::Seconds(1))));
}

template <typename T>
absl::Status RestCaller::Watch(const CallContext& context, const RestRequest& collection, const WatchParams& params,
                               WatchSink<T>& sink) const {
  std::string version = params.resource_version;
  if (version.empty()) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<T> page, Begin<T>(context, collection, params));
    version = page.resource_version;
    if (!sink.OnList(std::move(page.items), version)) return absl::OkStatus();
  }
  HttpRequest request = collection.http;
  request.query.insert(request.query.end(), {{"watch", "1"},
                                             {"resourceVersion", std::move(version)},
                                             {"allowWatchBookmarks", "true"},
                                             {"timeoutSeconds", WatchSeconds(params.timeout)}});
  WatchLines<T> lines(collection.attempted, sink, params.on_unreadable);
  const absl::StatusOr<HttpResponse> response = transport_->Stream(context, request, lines);
  if (!lines.status().ok()) return lines.status();
  if (!response.ok()) return TransportFailure(collection.attempted, response.status());
  return IsSuccess(*response) ? absl::OkStatus() : WatchFailureOf(collection.attempted, *response);
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REST_CALLER_H_
