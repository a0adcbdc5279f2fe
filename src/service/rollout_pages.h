// The page of a rollout, and the document that it shows.
#ifndef DRIVERUPGRADE_SRC_SERVICE_ROLLOUT_PAGES_H_
#define DRIVERUPGRADE_SRC_SERVICE_ROLLOUT_PAGES_H_

#include <string>

#include "absl/status/status.h"
#include "service/rollout_board.h"
#include "service/web_server.h"

namespace driverupgrade::internal {

// rollout_page.html.
extern const char kRolloutPage[];

// `GET /`: one HTML file that loads nothing from elsewhere. Both pages refuse requests for a host name that is not of this machine.
// Otherwise a website could read them through its own name (DNS rebinding).
PageMaker RolloutPage();
// `GET /rollout`: the document, or with `?watch=true` a server-sent event `rollout` with each document that differs from
// the one before. `board` outlives the maker and its streams.
PageMaker RolloutDocumentPage(RolloutBoard& board);
// Adds both. Errors: InvalidArgument if the address is not a loopback address.
absl::Status AddRolloutPages(const std::string& address, RolloutBoard& board, PagesByAddress& pages);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_ROLLOUT_PAGES_H_
