// Reads the documents of du_plan, du_simulate and du_preflight: a request about a driver, and a dump of the cluster.
#ifndef DRIVERUPGRADE_SRC_WHATIF_QUESTION_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_WHATIF_QUESTION_DOCUMENT_H_

#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_policy.h"
#include "whatif/cluster_facts.h"
#include "whatif/what_if.h"
#include "wire/document.h"

namespace driverupgrade::internal {

// Errors of all functions: InvalidArgument with the path of the invalid member, starting with `request` or `cluster`.

// Parses a request with the members that the three functions share, and with the members in `more`.
absl::StatusOr<Document> ParseRequest(std::string_view text, std::initializer_list<std::string_view> more = {});

// Reads the shared members except for the policy.
absl::StatusOr<whatif::Question> ReadQuestion(const Document& request);

// Reads the member `policy` of `holder`, which is the request or a part of it.
absl::StatusOr<UpgradePolicy> ReadPolicy(const Document& request, const Document& holder,
                                         const DriverIdentity& identity);

// Adds the cluster to the question, and then reads the request's member `restartOnly`, which names revisions in the
// cluster.
absl::Status ReadCluster(const Document& request, std::string_view cluster, whatif::Question& question);

// Returns the facts in the dump that ReadCluster does not read. Sets the question's rollout record if the dump contains
// one.
absl::StatusOr<whatif::ClusterFacts> ReadFacts(std::string_view cluster, whatif::Question& question);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WHATIF_QUESTION_DOCUMENT_H_
