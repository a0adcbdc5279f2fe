/// Parses the words that follow a command's name.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_ARGUMENTS_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_ARGUMENTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/label_selector.h"

namespace driverupgrade::tests {

/// Each accessor removes the words that it returns. Finish fails if any words are left. All member functions can throw
/// ScenarioError.
class Arguments {
 public:
  explicit Arguments(std::string_view line);

  /// Returns the next word, which must exist and must not have the form `name=value`.
  std::string Word(std::string_view what);
  /// Returns all words up to the first word that is in `keywords` or has the form `name=value`.
  std::vector<std::string> Words(const std::vector<std::string_view>& keywords);
  /// Returns true if the word is present.
  bool Flag(std::string_view word);
  /// Returns the value of `name=value`.
  std::optional<std::string> Value(std::string_view name);
  std::optional<int> Number(std::string_view name);
  /// Same as Value for a duration such as `30s`, `5m` or `inf`.
  std::optional<absl::Duration> Duration(std::string_view name);
  std::optional<LabelSelector> Selector(std::string_view name);
  /// Returns the pairs of `<word> key=value`, one for each occurrence of the word.
  std::vector<std::pair<std::string, std::string>> Pairs(std::string_view word);
  bool empty() const { return words_.empty(); }
  void Finish() const;

 private:
  std::vector<std::string> words_;
};

absl::Duration ParseDuration(const std::string& text);
/// Parses `namespace/name`. The result has no UID.
PodRef ParseName(const std::string& text);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_ARGUMENTS_H_
