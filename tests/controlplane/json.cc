#include "json.h"

#include <stdexcept>

namespace driverupgrade::e2e {

rapidjson::Document ParseJson(const std::string& text, std::string_view what) {
  absl::StatusOr<rapidjson::Document> document = examples::ParseJson(text);
  if (document.ok()) return *std::move(document);
  throw std::runtime_error(std::string(what) + ": " + std::string(document.status().message()) +
                           " of: " + text.substr(0, 400));
}

}  // namespace driverupgrade::e2e
