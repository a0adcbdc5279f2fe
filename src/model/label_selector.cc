#include "driverupgrade/label_selector.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/quote.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/label_syntax.h"

namespace driverupgrade {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

std::optional<std::int64_t> ParseInt64(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view ToString(Operator op) {
  switch (op) {
    case Operator::kIn: return "in";
    case Operator::kNotIn: return "notin";
    case Operator::kExists: return "exists";
    case Operator::kDoesNotExist: return "does not exist";
    case Operator::kGreaterThan: return ">";
    case Operator::kLessThan: return "<";
  }
  return "unknown operator";
}

absl::Status CheckKey(std::string_view key) {
  if (internal::IsLabelKey(key)) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "key {} is not [prefix/]name, with a prefix that is a lower-case DNS name of at most {} characters, and a name "
      "of 1 to {} letters, digits, '-', '_' and '.' that starts and ends with a letter or a digit",
      internal::Quote(key), internal::kDnsSubdomainSizeMax, internal::kLabelNameSizeMax));
}

absl::Status CheckValues(const Requirement& requirement) {
  for (const std::string& value : requirement.values) {
    if (internal::IsLabelValue(value)) continue;
    return absl::InvalidArgumentError(
        fmt::format("value {} has more than {} characters, or characters other than letters, digits, '-', '_' and '.', "
                    "or does not start and end with a letter or a digit",
                    internal::Quote(value), internal::kLabelNameSizeMax));
  }
  const std::size_t count = requirement.values.size();
  switch (requirement.op) {
    case Operator::kIn:
    case Operator::kNotIn:
      if (count > 0) return absl::OkStatus();
      return absl::InvalidArgumentError(fmt::format("operator {} needs a value", ToString(requirement.op)));
    case Operator::kExists:
    case Operator::kDoesNotExist:
      if (count == 0) return absl::OkStatus();
      return absl::InvalidArgumentError(
          fmt::format("operator {} takes no values, got {}", ToString(requirement.op), count));
    case Operator::kGreaterThan:
    case Operator::kLessThan:
      if (count == 1 && ParseInt64(requirement.values.front())) return absl::OkStatus();
      return absl::InvalidArgumentError(
          fmt::format("operator {} requires exactly one value, a 64-bit integer", ToString(requirement.op)));
  }
  return absl::InvalidArgumentError("unknown operator");
}

void SortUnique(std::vector<std::string>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Sorts the requirements and removes duplicates, so that equivalent selectors compare equal and have the same text
// (S7).
void Canonicalize(std::vector<Requirement>& requirements) {
  std::sort(requirements.begin(), requirements.end(), [](const Requirement& a, const Requirement& b) {
    return std::tie(a.key, a.op, a.values) < std::tie(b.key, b.op, b.values);
  });
  requirements.erase(std::unique(requirements.begin(), requirements.end()), requirements.end());
}

enum class TokenKind : std::uint8_t {
  kEnd,
  kText,
  kEqual,
  kDoubleEqual,
  kNotEqual,
  kNot,
  kLess,
  kGreater,
  kOpen,
  kClose,
  kComma
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text = {};
  std::size_t offset = 0;
};

// Implements the lexer of S2. Treats `in` and `notin` as plain text, because only the parser knows where they are
// operators.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { Advance(); }

  const Token& next() const { return next_; }

  Token Take() {
    const Token taken = next_;
    Advance();
    return taken;
  }

 private:
  void Advance() {
    offset_ = std::min(text_.find_first_not_of(" \t\r\n", offset_), text_.size());
    const std::string_view rest = text_.substr(offset_);
    const auto [kind, size] = Classify(rest);
    next_ = Token{.kind = kind, .text = rest.substr(0, size), .offset = offset_};
    offset_ += size;
  }

  static std::pair<TokenKind, std::size_t> Classify(std::string_view rest) {
    if (rest.empty()) return {TokenKind::kEnd, 0};
    const bool equal_follows = rest.size() > 1 && rest[1] == '=';
    switch (rest.front()) {
      case '=': return equal_follows ? std::pair(TokenKind::kDoubleEqual, 2) : std::pair(TokenKind::kEqual, 1);
      case '!': return equal_follows ? std::pair(TokenKind::kNotEqual, 2) : std::pair(TokenKind::kNot, 1);
      case '<': return {TokenKind::kLess, 1};
      case '>': return {TokenKind::kGreater, 1};
      case '(': return {TokenKind::kOpen, 1};
      case ')': return {TokenKind::kClose, 1};
      case ',': return {TokenKind::kComma, 1};
      default: return {TokenKind::kText, std::min(rest.find_first_of("=!(),<> \t\r\n"), rest.size())};
    }
  }

  std::string_view text_;
  std::size_t offset_ = 0;
  Token next_;
};

// Implements grammar S1 by recursive descent. Kubernetes accepts the canonical form of every selector that this parser
// accepts.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text) {}

  absl::StatusOr<std::vector<Requirement>> Parse() {
    std::vector<Requirement> requirements;
    if (lexer_.next().kind == TokenKind::kEnd) return requirements;
    for (;;) {
      DRIVERUPGRADE_ASSIGN_OR_RETURN(Requirement requirement, ParseRequirement());
      requirements.push_back(std::move(requirement));
      const Token token = lexer_.Take();
      if (token.kind == TokenKind::kEnd) return requirements;
      if (token.kind != TokenKind::kComma) return Expected("',' or the end", token);
    }
  }

 private:
  absl::StatusOr<Requirement> ParseRequirement() {
    const bool negated = lexer_.next().kind == TokenKind::kNot;
    if (negated) lexer_.Take();
    const Token key = lexer_.Take();
    if (key.kind != TokenKind::kText) return Expected("a label key", key);
    if (const absl::Status status = CheckKey(key.text); !status.ok()) return At(key, internal::Message(status));
    Requirement requirement{.key = std::string(key.text)};
    if (negated) {
      requirement.op = Operator::kDoesNotExist;
      return requirement;
    }
    const Token op = lexer_.next();
    if (op.kind == TokenKind::kEnd || op.kind == TokenKind::kComma) return requirement;
    lexer_.Take();
    const Token first_value = lexer_.next();
    DRIVERUPGRADE_RETURN_IF_ERROR(ParseOperatorAndValues(op, requirement));
    SortUnique(requirement.values);
    const absl::Status status = CheckValues(requirement);
    if (!status.ok()) return At(first_value, internal::Message(status));
    return requirement;
  }

  absl::Status ParseOperatorAndValues(const Token& op, Requirement& requirement) {
    switch (op.kind) {
      case TokenKind::kEqual:
      case TokenKind::kDoubleEqual: requirement.op = Operator::kIn; return ParseExactValue(requirement.values);
      case TokenKind::kNotEqual: requirement.op = Operator::kNotIn; return ParseExactValue(requirement.values);
      case TokenKind::kGreater: requirement.op = Operator::kGreaterThan; return ParseExactValue(requirement.values);
      case TokenKind::kLess: requirement.op = Operator::kLessThan; return ParseExactValue(requirement.values);
      default: break;
    }
    if (op.text != "in" && op.text != "notin") {
      return Expected("'=', '==', '!=', '<', '>', 'in', 'notin', ',' or the end", op);
    }
    requirement.op = op.text == "in" ? Operator::kIn : Operator::kNotIn;
    return ParseValueList(requirement.values);
  }

  absl::Status ParseExactValue(std::vector<std::string>& values) {
    const TokenKind kind = lexer_.next().kind;
    if (kind == TokenKind::kEnd || kind == TokenKind::kComma) {
      values.emplace_back();  // S3: `k=` matches the empty value.
      return absl::OkStatus();
    }
    const Token value = lexer_.Take();
    if (value.kind != TokenKind::kText) return Expected("a label value", value);
    values.emplace_back(value.text);
    return absl::OkStatus();
  }

  absl::Status ParseValueList(std::vector<std::string>& values) {
    if (const Token token = lexer_.Take(); token.kind != TokenKind::kOpen) return Expected("'('", token);
    for (;;) {
      // S3: nothing between two separators means the empty value.
      values.emplace_back(lexer_.next().kind == TokenKind::kText ? lexer_.Take().text : std::string_view());
      const Token token = lexer_.Take();
      if (token.kind == TokenKind::kClose) return absl::OkStatus();
      if (token.kind != TokenKind::kComma) return Expected("',' or ')'", token);
    }
  }

  absl::Status Expected(std::string_view expected, const Token& found) const {
    return At(found, fmt::format("expected {}, found {}", expected,
                                 found.kind == TokenKind::kEnd ? "the end" : internal::Quote(found.text)));
  }

  absl::Status At(const Token& token, std::string_view problem) const {
    return absl::InvalidArgumentError(
        fmt::format("label selector {}, character {}: {}", internal::Quote(text_), token.offset + 1, problem));
  }

  std::string_view text_;
  Lexer lexer_;
};

bool MatchesOne(const Requirement& requirement, const StringMap& labels) {
  const auto label = labels.find(requirement.key);
  const bool present = label != labels.end();
  const auto listed = [&] {
    return std::binary_search(requirement.values.begin(), requirement.values.end(), label->second);
  };
  switch (requirement.op) {
    case Operator::kIn: return present && listed();
    case Operator::kNotIn: return !present || !listed();
    case Operator::kExists: return present;
    case Operator::kDoesNotExist: return !present;
    case Operator::kGreaterThan:
    case Operator::kLessThan: {
      if (!present) return false;
      const std::optional<std::int64_t> actual = ParseInt64(label->second);
      const std::optional<std::int64_t> bound = ParseInt64(requirement.values.front());
      if (!actual || !bound) return false;
      return requirement.op == Operator::kGreaterThan ? *actual > *bound : *actual < *bound;
    }
  }
  return false;
}

std::string QueryOf(const Requirement& requirement) {
  const std::string& key = requirement.key;
  const std::vector<std::string>& values = requirement.values;
  switch (requirement.op) {
    case Operator::kIn:
      if (values.size() == 1) return fmt::format("{}={}", key, values.front());
      return fmt::format("{} in ({})", key, fmt::join(values, ","));
    case Operator::kNotIn:
      if (values.size() == 1) return fmt::format("{}!={}", key, values.front());
      return fmt::format("{} notin ({})", key, fmt::join(values, ","));
    case Operator::kExists: return key;
    case Operator::kDoesNotExist: return fmt::format("!{}", key);
    case Operator::kGreaterThan: return fmt::format("{}>{}", key, values.front());
    case Operator::kLessThan: return fmt::format("{}<{}", key, values.front());
  }
  return key;
}

}  // namespace

absl::StatusOr<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(selector.requirements_, Parser(text).Parse());
  Canonicalize(selector.requirements_);
  return selector;
}

absl::StatusOr<LabelSelector> LabelSelector::FromRequirements(std::vector<Requirement> requirements) {
  for (Requirement& requirement : requirements) {
    SortUnique(requirement.values);
    absl::Status status = CheckKey(requirement.key);
    if (status.ok()) status = CheckValues(requirement);
    if (!status.ok()) {
      return absl::InvalidArgumentError(fmt::format("label selector, requirement on {}: {}",
                                                    internal::Quote(requirement.key), internal::Message(status)));
    }
  }
  LabelSelector selector;
  selector.requirements_ = std::move(requirements);
  Canonicalize(selector.requirements_);
  return selector;
}

LabelSelector LabelSelector::FromMatchLabels(const StringMap& match_labels) {
  LabelSelector selector;
  for (const auto& [key, value] : match_labels) {
    selector.requirements_.push_back({.key = key, .op = Operator::kIn, .values = {value}});
  }
  return selector;
}

LabelSelector LabelSelector::Nothing() {
  LabelSelector selector;
  selector.nothing_ = true;
  return selector;
}

LabelSelector LabelSelector::And(const LabelSelector& other) const {
  if (nothing_ || other.nothing_) return Nothing();
  LabelSelector both = *this;
  both.requirements_.insert(both.requirements_.end(), other.requirements_.begin(), other.requirements_.end());
  Canonicalize(both.requirements_);
  return both;
}

bool LabelSelector::Matches(const StringMap& labels) const {
  return !nothing_ && std::all_of(requirements_.begin(), requirements_.end(),
                                  [&labels](const Requirement& one) { return MatchesOne(one, labels); });
}

std::string LabelSelector::ToString() const {
  // An empty query would select everything. This contradictory query selects nothing, and every server accepts it.
  if (nothing_) return "!nothing,nothing";
  std::vector<std::string> parts;
  parts.reserve(requirements_.size());
  for (const Requirement& requirement : requirements_) parts.push_back(QueryOf(requirement));
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace driverupgrade
