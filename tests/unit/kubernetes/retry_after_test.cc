#include "kubernetes/retry_after.h"

#include <optional>
#include <string_view>

#include "support/catch.h"

namespace driverupgrade {
namespace {

TEST_CASE("api-A30: a server may request a pause of at most five minutes") {
  CHECK(ParseRetryAfter("0") == 0);
  CHECK(ParseRetryAfter("17") == 17);
  CHECK(ParseRetryAfter("300") == 300);
  CHECK(ParseRetryAfter("2000000000") == 300);
  CHECK(ParseRetryAfter("99999999999999999999") == 300);
  CHECK(ParseRetryAfter("-5") == 0);
  CHECK(ParseRetryAfter("-99999999999999999999") == 0);
}

TEST_CASE("api-A30: an invalid number of seconds requests no pause") {
  for (const std::string_view text : {"", "soon", "1.5", "3 s", "Wed, 21 Oct 2026 07:28:00 GMT"}) {
    CAPTURE(text);
    CHECK(ParseRetryAfter(text) == std::nullopt);
  }
}

}  // namespace
}  // namespace driverupgrade
