// Serves the rollout page, and the document that the page shows.
#ifndef DRIVERUPGRADE_SRC_SERVICE_ROLLOUT_PAGES_H_
#define DRIVERUPGRADE_SRC_SERVICE_ROLLOUT_PAGES_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "driverupgrade/service/upgrade_service.h"
#include "service/rollout_board.h"
#include "service/web_server.h"

namespace driverupgrade::internal {

// The text of rollout_page.html.
extern const char kRolloutPage[];

// Checks a request before it is served. Returns 401, 403, 429 or 503 with the reason; nullopt: the request is served.
using Guard = std::function<std::optional<Page>(const PageRequest&)>;
// Returns the guard for an address that only this machine can reach. The guard refuses requests whose host name is not
// a name of this machine, because a website could otherwise read the page through its own host name (DNS rebinding).
Guard OnlyThisMachine();
// Returns the guard for an address that other machines can reach. The guard refuses requests whose token `check` does
// not accept.
Guard OnlyReaders(ReaderCheck check);

// Returns the page maker for `GET /`. The page is a single HTML file that loads no other resources.
PageMaker RolloutPage(Guard guard);
// Returns the page maker for `GET /rollout`: the document, or with `?watch=true` a server-sent event `rollout` with
// each document that differs from the previous one. `board` must outlive the page maker and its streams.
PageMaker RolloutDocumentPage(RolloutBoard& board, Guard guard);

// Adds both pages. Errors: InvalidArgument if the address is not a loopback address.
absl::Status AddRolloutPages(const std::string& address, RolloutBoard& board, PagesByAddress& pages);
// Same as AddRolloutPages, but with TLS, and only for readers that `check` accepts. Errors: InvalidArgument if `check`
// is null, or if other pages already use the address.
absl::Status AddSecureRolloutPages(const std::string& address, ReaderCheck check, RolloutBoard& board,
                                   PagesByAddress& pages);

// Adds the pages at each address that is set in the options. Errors: the errors of the two functions above.
absl::Status AddAllRolloutPages(const ServiceOptions& options, RolloutBoard& board, PagesByAddress& pages);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_ROLLOUT_PAGES_H_
