#include "scenarios/scenario_arguments.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "scenarios/scenario_file.h"

namespace driverupgrade::tests {

Arguments::Arguments(std::string_view line) {
  std::istringstream stream{std::string(line)};
  for (std::string word; stream >> word;) words_.push_back(word);
}

std::string Arguments::Word(std::string_view what) {
  if (words_.empty() || words_.front().find('=') != std::string::npos)
    throw ScenarioError(fmt::format("{} is missing", what));
  std::string word = words_.front();
  words_.erase(words_.begin());
  return word;
}

std::vector<std::string> Arguments::Words(const std::vector<std::string_view>& keywords) {
  std::vector<std::string> taken;
  while (!words_.empty() && words_.front().find('=') == std::string::npos &&
         std::find(keywords.begin(), keywords.end(), words_.front()) == keywords.end()) {
    taken.push_back(words_.front());
    words_.erase(words_.begin());
  }
  return taken;
}

bool Arguments::Flag(std::string_view word) {
  const auto found = std::find(words_.begin(), words_.end(), word);
  if (found == words_.end()) return false;
  words_.erase(found);
  return true;
}

std::optional<std::string> Arguments::Value(std::string_view name) {
  const std::string prefix = fmt::format("{}=", name);
  const auto found =
      std::find_if(words_.begin(), words_.end(), [&](const std::string& word) { return word.starts_with(prefix); });
  if (found == words_.end()) return std::nullopt;
  std::string value = found->substr(prefix.size());
  words_.erase(found);
  return value;
}

std::optional<int> Arguments::Number(std::string_view name) {
  const std::optional<std::string> value = Value(name);
  if (!value) return std::nullopt;
  int number = 0;
  if (!absl::SimpleAtoi(*value, &number)) throw ScenarioError(fmt::format("{}: `{}` is not a number", name, *value));
  return number;
}

std::optional<absl::Duration> Arguments::Duration(std::string_view name) {
  const std::optional<std::string> value = Value(name);
  return value ? std::optional(ParseDuration(*value)) : std::nullopt;
}

std::optional<LabelSelector> Arguments::Selector(std::string_view name) {
  const std::optional<std::string> value = Value(name);
  if (!value) return std::nullopt;
  const absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(*value);
  if (!selector.ok()) throw ScenarioError(selector.status().ToString());
  return *selector;
}

std::vector<std::pair<std::string, std::string>> Arguments::Pairs(std::string_view word) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (auto found = std::find(words_.begin(), words_.end(), word); found != words_.end();
       found = std::find(words_.begin(), words_.end(), word)) {
    if (found + 1 == words_.end()) throw ScenarioError(fmt::format("nothing after {}", word));
    const std::string& text = *(found + 1);
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw ScenarioError(fmt::format("{}: `{}` is not key=value", word, text));
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    words_.erase(found, found + 2);
  }
  return pairs;
}

void Arguments::Finish() const {
  if (!words_.empty()) throw ScenarioError(fmt::format("`{}` is not understood", words_.front()));
}

absl::Duration ParseDuration(const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration)) throw ScenarioError(fmt::format("`{}` is not a duration", text));
  return duration;
}

PodRef ParseName(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) throw ScenarioError(fmt::format("`{}` is not namespace/name", text));
  return {.ns = text.substr(0, slash), .name = text.substr(slash + 1)};
}

}  // namespace driverupgrade::tests
