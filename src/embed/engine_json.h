// Writes the results of an engine as JSON documents. docs/c-api.md lists their members.
#ifndef DRIVERUPGRADE_SRC_EMBED_ENGINE_JSON_H_
#define DRIVERUPGRADE_SRC_EMBED_ENGINE_JSON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "embed/host_engine.h"

namespace driverupgrade::internal {

// Equal values produce equal strings, byte for byte.
std::string FormatReading(const std::vector<ManagedNode>& nodes, const std::vector<HostQuestion>& questions);
std::string FormatPass(const HostPass& pass);
// Returns "{}" for nullptr. `metadata_only` is true if the response needs to contain only the metadata of the objects.
// Errors: same as EncodeRequestTarget.
absl::StatusOr<std::string> FormatRequest(const HttpRequest* request, bool metadata_only);
std::string FormatSettled(const Settled& settled);
std::string FormatExplanation(const std::string& node, const std::optional<Gate>& gate);
// Returns `{"name":value}`.
std::string FormatFlag(const char* name, bool value);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_EMBED_ENGINE_JSON_H_
