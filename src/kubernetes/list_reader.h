// Reads all pages of a list, one request at a time.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_LIST_READER_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_LIST_READER_H_

#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "driverupgrade/cluster_reads.h"
#include "fmt/format.h"
#include "kubernetes/rest_answer.h"
#include "kubernetes/rest_request.h"

namespace driverupgrade::internal {

// Reads a list page by page. Starts over once if the server drops the snapshot between two pages (api-A9).
//
//     ListReader<Node> reader(request, 500, OnUnreadable::kFail);
//     while (const RestRequest* next = reader.Next()) DRIVERUPGRADE_RETURN_IF_ERROR(reader.Take(Send(next->http)));
//     return std::move(reader).Page();
template <typename T>
class ListReader {
 public:
  // `first` requests the whole collection. If `page_size` is 0, one request reads everything.
  ListReader(RestRequest first, int page_size, OnUnreadable on_unreadable)
      : first_(std::move(first)), on_unreadable_(on_unreadable) {
    if (page_size > 0) first_.http.query.emplace_back("limit", std::to_string(page_size));
    next_ = first_;
  }

  // Returns the next request, or nullptr if the list is complete.
  const RestRequest* Next() const { return next_ ? &*next_ : nullptr; }

  // Accepts the response to the request that Next returned. After an error, no further pages may be read.
  absl::Status Take(const HttpResponse& response) {
    const bool expired = response.status == 410 && page_count_ > 0;
    if (expired && !begun_anew_) {
      begun_anew_ = true;
      page_count_ = 0;
      next_ = first_;
      return absl::OkStatus();
    }
    DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<T> page, DecodePage<T>(*next_, response, on_unreadable_));
    DRIVERUPGRADE_RETURN_IF_ERROR(Add(std::move(page)));
    AskForMore();
    return absl::OkStatus();
  }

  // Returns all pages as one page, with the version at which they were read.
  ListPage<T> Page() && { return std::move(all_); }

 private:
  // Enough for five million objects in pages of 500. A server that sends more pages must be faulty.
  static constexpr int kPageCountMax = 10'000;

  absl::Status Add(ListPage<T> page) {
    if (page_count_++ == 0) {
      all_ = std::move(page);
      return absl::OkStatus();
    }
    const bool more = !page.continue_token.empty();
    if (page.continue_token == all_.continue_token || (more && page_count_ > kPageCountMax)) {
      return absl::UnavailableError(fmt::format("{}: the server's list does not end", first_.attempted));
    }
    std::move(page.items.begin(), page.items.end(), std::back_inserter(all_.items));
    all_.continue_token = std::move(page.continue_token);
    return absl::OkStatus();
  }

  void AskForMore() {
    if (all_.continue_token.empty()) return next_.reset();
    next_ = first_;
    next_->http.query.emplace_back("continue", all_.continue_token);
  }

  RestRequest first_;
  const OnUnreadable on_unreadable_;
  std::optional<RestRequest> next_ = {};
  ListPage<T> all_ = {};
  int page_count_ = 0;
  bool begun_anew_ = false;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_LIST_READER_H_
