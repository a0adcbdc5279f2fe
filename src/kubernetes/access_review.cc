#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/lru_map.h"
#include "base/status_macros.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "fmt/format.h"
#include "kubernetes/rest_cluster_status.h"
#include "wire/json_document.h"
#include "wire/json_writer.h"

namespace driverupgrade {
namespace {

using internal::JsonDocument;
using internal::JsonField;
using internal::JsonWriter;

constexpr std::size_t kTokensRemembered = 256;

// The owner of a token, from a TokenReview.
struct User {
  std::string name = {};
  std::string uid = {};
  std::vector<std::string> groups = {};
  std::map<std::string, std::vector<std::string>> extra = {};
};

std::vector<std::string> Texts(const JsonField& list) {
  std::vector<std::string> texts;
  list.ForEachItem([&](const JsonField& item) { texts.push_back(item.String()); });
  return texts;
}

void Write(JsonWriter& writer, std::string_view key, const std::vector<std::string>& texts) {
  writer.ArrayMember(key, [&] {
    for (const std::string& text : texts) writer.String(text);
  });
}

// A review: its API group, kind and resource, and its spec as JSON.
struct Review {
  std::string_view group;
  std::string_view kind;
  std::string_view resource;
  std::string spec;
};

HttpRequest RequestOf(const Review& review) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("apiVersion", fmt::format("{}/v1", review.group));
    writer.Member("kind", review.kind);
    writer.RawMember("spec", review.spec);
  });
  return {.verb = HttpVerb::kPost,
          .path = fmt::format("/apis/{}/v1/{}", review.group, review.resource),
          .body = writer.Take()};
}

Review OfToken(std::string_view token) {
  JsonWriter spec;
  spec.Object([&] { spec.Member("token", token); });
  return {.group = "authentication.k8s.io", .kind = "TokenReview", .resource = "tokenreviews", .spec = spec.Take()};
}

Review OfAccess(const User& user, const std::string& path) {
  JsonWriter spec;
  spec.Object([&] {
    spec.Member("user", user.name);
    spec.MemberIfAny("uid", user.uid);
    Write(spec, "groups", user.groups);
    spec.ObjectMember("extra", [&] {
      for (const auto& [key, values] : user.extra) Write(spec, key, values);
    });
    spec.ObjectMember("nonResourceAttributes", [&] {
      spec.Member("path", path);
      spec.Member("verb", "get");
    });
  });
  return {.group = "authorization.k8s.io",
          .kind = "SubjectAccessReview",
          .resource = "subjectaccessreviews",
          .spec = spec.Take()};
}

// Returns nullopt if the token is not valid.
std::optional<User> ReadUser(const JsonField& status) {
  const JsonField authenticated = status.Member("authenticated");
  if (!authenticated.Bool()) return std::nullopt;
  const JsonField user = status.Member("user");
  const JsonField name = user.Member("username");
  const JsonField uid = user.Member("uid");
  const JsonField groups = user.Member("groups");
  const JsonField extra = user.Member("extra");
  User read{.name = name.String(), .uid = uid.String(), .groups = Texts(groups)};
  extra.ForEachMember(
      [&](std::string_view key, const JsonField& values) { read.extra[std::string(key)] = Texts(values); });
  return read;
}

bool ReadAllowed(const JsonField& status) {
  const JsonField allowed = status.Member("allowed");
  return allowed.Bool();
}

// Returns the result of `read` for the status in the response to a review.
template <typename F>
auto ReadAnswer(const Review& review, const std::string& body, F&& read)
    -> absl::StatusOr<decltype(read(std::declval<JsonField>()))> {
  JsonDocument document;
  const absl::Status parsed = document.Parse(body);
  if (!parsed.ok())
    return absl::InternalError(fmt::format("create {}: {}", review.kind, std::string(parsed.message())));
  std::string error;
  const JsonField root(document.root(), error);
  auto answer = read(root.Member("status"));
  if (!error.empty()) return absl::InternalError(fmt::format("create {}: {}", review.kind, error));
  return answer;
}

}  // namespace

class AccessReview::Impl {
 public:
  Impl(std::shared_ptr<HttpTransport> transport, std::string path, std::shared_ptr<const Clock> clock)
      : transport_(std::move(transport)), path_(std::move(path)), clock_(std::move(clock)) {}

  absl::Status Check(const CallContext& context, std::string_view token) {
    if (token.empty()) return absl::UnauthenticatedError("no token");
    if (const std::optional<absl::Status> known = Remembered(token)) return *known;
    if (!TakeReview()) return absl::ResourceExhaustedError("too many tokens are being reviewed: try again");
    absl::Status answer = Ask(context, token);
    const bool is_answer = answer.ok() || absl::IsUnauthenticated(answer) || absl::IsPermissionDenied(answer);
    if (is_answer) Remember(token, answer);
    return answer;
  }

 private:
  struct Answer {
    absl::Time until = absl::InfinitePast();
    absl::Status status = absl::OkStatus();
  };

  std::optional<absl::Status> Remembered(std::string_view token) {
    const std::lock_guard lock(mutex_);
    const Answer& answer = answers_.Use(std::string(token));
    const absl::Time now = clock_->Now();
    // A clock that is set back must not extend a result's lifetime.
    const bool counts = now < answer.until && now >= answer.until - kRemembered;
    return counts ? std::optional(answer.status) : std::nullopt;
  }

  void Remember(std::string_view token, const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    answers_.Use(std::string(token)) = {.until = clock_->Now() + kRemembered, .status = status};
  }

  bool TakeReview() {
    const std::lock_guard lock(mutex_);
    const absl::Time now = clock_->Now();
    if (now < second_ || now >= second_ + absl::Seconds(1)) {
      second_ = now;
      reviews_ = 0;
    }
    return ++reviews_ <= kReviewsPerSecond;
  }

  absl::Status Ask(const CallContext& context, std::string_view token) {
    const Review of_token = OfToken(token);
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string whose, Post(context, of_token));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::optional<User> user, ReadAnswer(of_token, whose, ReadUser));
    if (!user) return absl::UnauthenticatedError("the token is not valid");
    const Review of_access = OfAccess(*user, path_);
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string may, Post(context, of_access));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool allowed, ReadAnswer(of_access, may, ReadAllowed));
    if (allowed) return absl::OkStatus();
    return absl::PermissionDeniedError(fmt::format("{} may not get {}", user->name, path_));
  }

  // Returns the body of the response. Errors: Unavailable if the review itself failed, because the token may still be
  // valid.
  absl::StatusOr<std::string> Post(const CallContext& context, const Review& review) {
    const std::string attempted = fmt::format("create {}", review.kind);
    absl::StatusOr<HttpResponse> response = transport_->Send(context, RequestOf(review));
    if (!response.ok()) {
      return absl::UnavailableError(internal::TransportFailure(attempted, response.status()).message());
    }
    if (!internal::IsSuccess(*response)) {
      return absl::UnavailableError(internal::FailureOf(attempted, HttpVerb::kPost, *response).message());
    }
    return std::move(response->body);
  }

  const std::shared_ptr<HttpTransport> transport_;
  const std::string path_;
  const std::shared_ptr<const Clock> clock_;
  std::mutex mutex_;
  internal::LruMap<Answer> answers_{kTokensRemembered};  // by token
  absl::Time second_ = absl::InfinitePast();
  int reviews_ = 0;  // number of reviews in the second that starts at `second_`
};

AccessReview::AccessReview(std::shared_ptr<HttpTransport> transport, std::string path,
                           std::shared_ptr<const Clock> clock)
    : impl_(std::make_unique<Impl>(std::move(transport), std::move(path), std::move(clock))) {}
AccessReview::~AccessReview() = default;

absl::Status AccessReview::Check(const CallContext& context, std::string_view token) {
  return impl_->Check(context, token);
}

}  // namespace driverupgrade
