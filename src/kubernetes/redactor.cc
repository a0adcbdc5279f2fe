#include "kubernetes/redactor.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

constexpr std::size_t kTokenSizeMin = 8;
constexpr std::size_t kTokenCountMax = 8;

bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

std::string PercentEncoded(std::string_view text, bool upper_case) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsAlnum(c) || std::string_view("-._~").find(c) != std::string_view::npos) {
      result.push_back(c);
    } else {
      result += upper_case ? fmt::format("%{:02X}", byte) : fmt::format("%{:02x}", byte);
    }
  }
  return result;
}

// JSON requires escapes for `"` and `\`. Go also escapes `<`, `>` and `&`, and other encoders escape `/`.
std::string JsonEscaped(std::string_view text, std::string_view by_backslash, std::string_view by_number) {
  std::string result;
  for (const char c : text) {
    if (by_backslash.find(c) != std::string_view::npos) {
      result += {'\\', c};
    } else if (by_number.find(c) != std::string_view::npos) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      result.push_back(c);
    }
  }
  return result;
}

// Returns the Base64 characters that depend only on `text` if `before` bytes of a group of three precede it.
std::string Base64Core(const std::string& text, std::size_t before, bool web_safe) {
  const std::string padded = std::string(before, '\0') + text;
  const std::string encoded = web_safe ? absl::WebSafeBase64Escape(padded) : absl::Base64Escape(padded);
  const std::size_t begin = (before * 8 + 5) / 6;
  return encoded.substr(begin, padded.size() * 8 / 6 - begin);
}

std::set<std::string> Spellings(const std::string& text) {
  std::set<std::string> spellings = {text,
                                     PercentEncoded(text, true),
                                     PercentEncoded(text, false),
                                     JsonEscaped(text, "\"\\", ""),
                                     JsonEscaped(text, "\"\\", "<>&"),
                                     JsonEscaped(text, "\"\\/", "")};
  for (const std::size_t before : {0, 1, 2}) {
    for (const bool web_safe : {false, true}) spellings.insert(Base64Core(text, before, web_safe));
  }
  return spellings;
}

std::set<std::string> SpellingsOfToken(const Secret& token) {
  return Spellings(token.Reveal().size() < kTokenSizeMin ? "Bearer " + token.Reveal() : token.Reveal());
}

// Returns the lines of the key's Base64 text. Every copy of the key consists of these lines, regardless of how the
// lines are joined.
std::set<std::string> LinesOfKey(const Secret& pem) {
  std::set<std::string> lines;
  std::string_view rest = pem.Reveal();
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const bool is_base64 =
        std::all_of(line.begin(), line.end(), [](char c) { return IsAlnum(c) || c == '+' || c == '/' || c == '='; });
    if (is_base64 && line.size() >= kTokenSizeMin) lines.emplace(line);
  }
  return lines;
}

}  // namespace

// A text to search for. Its searcher is prepared only once, because bodies are long and secrets are few.
class Redactor::Needle {
 public:
  explicit Needle(std::string text) : text_(std::move(text)), searcher_(text_.begin(), text_.end()) {}
  Needle(const Needle&) = delete;
  Needle& operator=(const Needle&) = delete;

  std::size_t size() const { return text_.size(); }
  // Returns the position of the text, or npos if the haystack does not contain the text.
  std::size_t FindIn(std::string_view haystack) const {
    const auto at = std::search(haystack.begin(), haystack.end(), searcher_);
    return at == haystack.end() ? std::string_view::npos : static_cast<std::size_t>(at - haystack.begin());
  }

 private:
  const std::string text_;
  const std::boyer_moore_horspool_searcher<std::string::const_iterator> searcher_;
};

Redactor::Needles Redactor::NeedlesOf(const std::set<std::string>& texts) {
  Needles needles;
  for (const std::string& text : texts) needles.push_back(std::make_shared<const Needle>(text));
  return needles;
}

Redactor::Redactor(const Secret& client_key_pem)
    : key_needles_(NeedlesOf(LinesOfKey(client_key_pem))), known_(std::make_shared<const Needles>(key_needles_)) {}

Redactor::~Redactor() = default;

void Redactor::Remember(const Secret& token) {
  if (token.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(tokens_.begin(), tokens_.end(), [&](const Token& each) { return each.token == token; });
  if (at != tokens_.end()) {
    std::rotate(tokens_.begin(), at, at + 1);
    return;
  }
  tokens_.insert(tokens_.begin(), {.token = token, .needles = NeedlesOf(SpellingsOfToken(token))});
  if (tokens_.size() > kTokenCountMax) tokens_.pop_back();
  auto known = std::make_shared<Needles>(key_needles_);
  for (const Token& each : tokens_) known->insert(known->end(), each.needles.begin(), each.needles.end());
  // Longer secrets come first: if one secret is a prefix of another, striking the shorter secret first would leave the
  // rest of the longer secret.
  std::stable_sort(known->begin(), known->end(), [](const auto& a, const auto& b) { return a->size() > b->size(); });
  known_ = std::move(known);
}

std::shared_ptr<const Redactor::Needles> Redactor::Known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

std::optional<std::string> Redactor::Struck(std::string_view text) const {
  std::optional<std::string> result;
  const std::shared_ptr<const Needles> known = Known();
  for (const auto& needle : *known) {
    std::string_view rest = result.has_value() ? std::string_view(*result) : text;
    std::size_t at = needle->FindIn(rest);
    if (at == std::string_view::npos) continue;
    std::string clean;
    for (; at != std::string_view::npos; at = needle->FindIn(rest)) {
      clean.append(rest.substr(0, at)).append(kStruck);
      rest.remove_prefix(at + needle->size());
    }
    clean.append(rest);
    result = std::move(clean);
  }
  return result;
}

void Redactor::Strike(std::string& text) const {
  if (std::optional<std::string> clean = Struck(text)) text = *std::move(clean);
}

void Redactor::Strike(HttpResponse& response) const {
  Strike(response.body);
  for (auto& [_, value] : response.headers) Strike(value);
}

absl::Status Redactor::Strike(const absl::Status& status) const {
  const std::optional<std::string> clean = Struck(internal::Message(status));
  if (!clean.has_value()) return status;
  absl::Status result(status.code(), *clean);
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

}  // namespace driverupgrade
