#include "service/rollout_pages.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "report/rollout_document.h"

namespace driverupgrade::internal {
namespace {

// Pause between two checks for a new document, and the number of checks without changes after which a stream sends a
// keep-alive message.
constexpr std::chrono::milliseconds kLookAgainAfter{500};
constexpr int kLooksBetweenSigns = 30;

Page WithCommonHeaders(Page page) {
  page.headers.insert({{"Cache-Control", "no-cache"}, {"X-Content-Type-Options", "nosniff"}});
  return page;
}

int StatusOf(const absl::Status& refusal) {
  if (absl::IsUnauthenticated(refusal)) return 401;
  if (absl::IsPermissionDenied(refusal)) return 403;
  return absl::IsResourceExhausted(refusal) ? 429 : 503;
}

std::string Nonce() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// Adds the nonce to `tag`, which `text` contains exactly once.
void AllowInline(std::string_view tag, const std::string& nonce, std::string& text) {
  const std::size_t at = text.find(tag);
  if (at != std::string::npos) text.insert(at + tag.size() - 1, fmt::format(" nonce=\"{}\"", nonce));
}

// The progress of one stream.
struct Stream {
  std::string etag = {};
  int looks = 0;
};

std::string NextEvent(RolloutBoard& board, Stream& stream) {
  // The first document is sent immediately.
  if (!stream.etag.empty()) std::this_thread::sleep_for(kLookAgainAfter);
  const RolloutBoard::Document document = board.Tell();
  if (document.etag != stream.etag) {
    stream = {.etag = document.etag};
    return fmt::format("event: rollout\nid: {}\ndata: {}\n\n", document.etag,
                       AtTime(*document.text, board.clock().Now()));
  }
  if (++stream.looks < kLooksBetweenSigns) return "";
  stream.looks = 0;
  return ": nothing new\n\n";
}

}  // namespace

Guard OnlyThisMachine() {
  return [](const PageRequest& request) -> std::optional<Page> {
    if (IsLoopbackHost(request.host)) return std::nullopt;
    return Page{.status = 403,
                .body = "this address serves only clients on the same machine, such as kubectl port-forward\n"};
  };
}

Guard OnlyReaders(ReaderCheck check) {
  return [check = std::move(check)](const PageRequest& request) -> std::optional<Page> {
    const absl::Status checked = check(request.token);
    if (checked.ok()) return std::nullopt;
    Page page{.status = StatusOf(checked), .body = std::string(checked.message()) + "\n"};
    if (page.status == 401) page.headers["WWW-Authenticate"] = "Bearer";
    if (page.status == 429) page.headers["Retry-After"] = "1";
    return page;
  };
}

PageMaker RolloutPage(Guard guard) {
  return [guard = std::move(guard)](const PageRequest& request) -> Page {
    if (std::optional<Page> refusal = guard(request)) return WithCommonHeaders(*std::move(refusal));
    const std::string nonce = Nonce();
    std::string body = kRolloutPage;
    AllowInline("<style>", nonce, body);
    AllowInline("<script>", nonce, body);
    return WithCommonHeaders(
        {.body = std::move(body),
         .content_type = "text/html; charset=utf-8",
         .headers = {
             {"Content-Security-Policy",
              fmt::format("default-src 'none'; style-src 'nonce-{0}'; script-src 'nonce-{0}'; connect-src 'self'; "
                          "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                          nonce)},
             {"Referrer-Policy", "no-referrer"}}});
  };
}

PageMaker RolloutDocumentPage(RolloutBoard& board, Guard guard) {
  return [&board, guard = std::move(guard)](const PageRequest& request) -> Page {
    if (std::optional<Page> refusal = guard(request)) return WithCommonHeaders(*std::move(refusal));
    if (request.watch) {
      // The guard checks the request before each event, because the reader may lose its permission while the stream
      // is open.
      return WithCommonHeaders(
          {.content_type = "text/event-stream",
           .next = [&board, guard, request, stream = std::make_shared<Stream>()]() -> std::optional<std::string> {
             if (guard(request)) return std::nullopt;
             return NextEvent(board, *stream);
           }});
    }
    const RolloutBoard::Document document = board.Tell();
    return WithCommonHeaders({.body = AtTime(*document.text, board.clock().Now()),
                              .content_type = "application/json",
                              .etag = document.etag});
  };
}

absl::Status AddRolloutPages(const std::string& address, RolloutBoard& board, PagesByAddress& pages) {
  if (!IsLoopback(address)) {
    return absl::InvalidArgumentError(fmt::format(
        "the rollout page needs a loopback address, such as 127.0.0.1:8082, not `{}`, because its readers need no "
        "credentials",
        address));
  }
  pages[address].by_path["/"] = RolloutPage(OnlyThisMachine());
  pages[address].by_path["/rollout"] = RolloutDocumentPage(board, OnlyThisMachine());
  return absl::OkStatus();
}

absl::Status AddSecureRolloutPages(const std::string& address, ReaderCheck check, RolloutBoard& board,
                                   PagesByAddress& pages) {
  if (check == nullptr) {
    return absl::InvalidArgumentError("the rollout page at a secure address requires a reader check");
  }
  if (pages.contains(address)) {
    return absl::InvalidArgumentError(
        fmt::format("the rollout page needs its own secure address, but `{}` serves other pages", address));
  }
  const Guard guard = OnlyReaders(std::move(check));
  pages[address] = {.tls = true,
                    .by_path = {{"/", RolloutPage(guard)}, {"/rollout", RolloutDocumentPage(board, guard)}}};
  return absl::OkStatus();
}

absl::Status AddAllRolloutPages(const ServiceOptions& options, RolloutBoard& board, PagesByAddress& pages) {
  if (!options.rollout_address.empty()) {
    const absl::Status added = AddRolloutPages(options.rollout_address, board, pages);
    if (!added.ok()) return added;
  }
  if (options.rollout_secure_address.empty()) return absl::OkStatus();
  return AddSecureRolloutPages(options.rollout_secure_address, options.rollout_readers, board, pages);
}

}  // namespace driverupgrade::internal
