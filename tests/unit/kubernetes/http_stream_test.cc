// Tests HttpTransport::Stream.
#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "driverupgrade/kubernetes/http_transport.h"
#include "loopback_server.h"
#include "support/catch.h"
#include "transport_under_test.h"

namespace driverupgrade {
namespace {

using namespace testing_support;  // NOLINT: the test's own helpers.

constexpr char kChunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

// Returns a handler that writes the given chunks, followed by the final chunk. If `end` is false, the handler closes
// the connection instead of writing the final chunk.
LoopbackServer::Handler Chunks(std::vector<std::string> chunks, bool end = true) {
  return [chunks = std::move(chunks), end](Connection& connection, const std::string&) {
    connection.Write(kChunked);
    for (const std::string& chunk : chunks) connection.WriteChunk(chunk);
    return end && connection.WriteChunk("");
  };
}

TEST_CASE("Lines of a stream are complete and in order", "[http_stream]") {
  LoopbackServer server(Chunks({"a", "b\n", "\n\r\nc\r", "\nd\ne", "f\ng\n", "unfinished"}));
  const auto transport = MakeTransport({.server = server.url()});
  Lines sink;
  const absl::StatusOr<HttpResponse> head = transport->Stream(Patiently(), Get("/watch"), sink);
  REQUIRE(head.ok());
  CHECK(head->status == 200);
  CHECK(head->body.empty());
  CHECK(sink.statuses == std::vector<int>{200});
  CHECK(sink.lines == std::vector<std::string>{"ab", "c", "d", "ef", "g"});
}

TEST_CASE("An error status is returned as the response, and the sink receives nothing", "[http_stream]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    if (request.starts_with("GET /long")) return connection.Answer(500, std::string(2000, 'x'));
    return connection.Answer(410, "{\"reason\":\n\"Expired\"}", "Retry-After: 1\r\n");
  });
  const auto transport = MakeTransport({.server = server.url()}, {.body_size_max = 1000});
  Lines sink;
  const absl::StatusOr<HttpResponse> response = transport->Stream({}, Get("/"), sink);
  REQUIRE(response.ok());
  CHECK(response->status == 410);
  CHECK(response->body == "{\"reason\":\n\"Expired\"}");
  CHECK(response->Header("retry-after") == "1");
  CHECK(transport->Stream({}, Get("/long"), sink).status().code() == absl::StatusCode::kOutOfRange);
  CHECK(sink.statuses.empty());
  CHECK(sink.lines.empty());
}

TEST_CASE("A stream that is cut off delivers its complete lines, and then returns an error", "[http_stream]") {
  LoopbackServer server(Chunks({"a\nb\nc"}, false));
  const auto transport = MakeTransport({.server = server.url()});
  Lines sink;
  const absl::Status status = transport->Stream(Patiently(), Get("/w"), sink).status();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(Message(status), Catch::Contains("connection lost in the middle of the response"));
  CHECK(sink.lines == std::vector<std::string>{"a", "b"});
}

TEST_CASE("The sink ends a stream by returning false", "[http_stream]") {
  Event closed;
  LoopbackServer server([&](Connection& connection, const std::string&) {
    connection.Write(kChunked);
    connection.WriteChunk("a\nb\nc\n");
    connection.WaitForClose();
    closed.Set();
    return false;
  });
  const auto transport = MakeTransport({.server = server.url()});
  Lines sink([](std::string_view line) { return line != "b"; });
  const absl::StatusOr<HttpResponse> head = transport->Stream({}, Get("/w"), sink);
  REQUIRE(head.ok());
  CHECK(head->status == 200);
  CHECK(sink.lines == std::vector<std::string>{"a", "b"});
  CHECK(closed.Wait());
}

TEST_CASE("A sink that throws ends the stream, not the process", "[http_stream]") {
  LoopbackServer server(Chunks({"a\nb\n"}));
  const auto transport = MakeTransport({.server = server.url()});
  Lines sink([](std::string_view) -> bool { throw std::runtime_error("oops"); });
  CHECK(transport->Stream({}, Get("/w"), sink).status().code() == absl::StatusCode::kInternal);
  CHECK(sink.lines == std::vector<std::string>{"a"});
}

TEST_CASE("A line over the limit is refused", "[http_stream]") {
  LoopbackServer server(Chunks({"short\n", std::string(600, 'x'), std::string(600, 'x') + "\n"}));
  const auto transport = MakeTransport({.server = server.url()}, {.line_size_max = 1000});
  Lines sink;
  const absl::Status status = transport->Stream({}, Get("/w"), sink).status();
  CHECK(status.code() == absl::StatusCode::kOutOfRange);
  CHECK_THAT(Message(status), Catch::EndsWith(": line longer than 1000 bytes"));
  CHECK(sink.lines == std::vector<std::string>{"short"});
}

TEST_CASE("A silent stream ends on a stop request, at its deadline, or after the idle timeout", "[http_stream]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    if (!request.starts_with("GET /headless")) {
      connection.Write(kChunked);
      connection.WriteChunk("a\n");
    }
    connection.WaitForClose();
    return false;
  });
  Lines sink;
  SECTION("stop request from the sink or from another thread") {
    const auto transport = MakeTransport({.server = server.url()});
    std::stop_source stop;
    Lines stopping([&](std::string_view) { return stop.request_stop(); });
    CHECK(transport->Stream({.stop = stop.get_token()}, Get("/w"), stopping).status().code() ==
          absl::StatusCode::kCancelled);
    std::stop_source later;
    Event came;
    Lines telling([&](std::string_view) {
      came.Set();
      return true;
    });
    std::thread stopper([&] {
      came.Wait();
      later.request_stop();
    });
    CHECK(transport->Stream({.stop = later.get_token()}, Get("/w"), telling).status().code() ==
          absl::StatusCode::kCancelled);
    stopper.join();
    CHECK(telling.lines == std::vector<std::string>{"a"});
  }
  SECTION("deadline") {
    const auto transport = MakeTransport({.server = server.url()});
    CHECK(WithEnoughTime([&](absl::Duration time) {
      const absl::Status status = transport->Stream(Within(time), Get("/w"), sink).status();
      CHECK(status.code() == absl::StatusCode::kDeadlineExceeded);
      return !sink.lines.empty();
    }));
    CHECK(sink.lines == std::vector<std::string>{"a"});
  }
  SECTION("idle timeout") {
    const auto transport = MakeTransport({.server = server.url()}, {.stream_idle_timeout = absl::Milliseconds(100)});
    const absl::Status status = transport->Stream({}, Get("/w"), sink).status();
    CHECK(status.code() == absl::StatusCode::kUnavailable);
    CHECK_THAT(Message(status), Catch::EndsWith(": no data received for 100ms"));
  }
  SECTION("no response headers") {
    const auto transport = MakeTransport({.server = server.url()}, {.request_timeout = absl::Milliseconds(100)});
    CHECK(transport->Stream({}, Get("/headless"), sink).status().code() == absl::StatusCode::kDeadlineExceeded);
    CHECK(sink.statuses.empty());
  }
}

// Waits until `written` no longer changes, and returns its value. On a busy machine the wait may end too early. An
// early end can hide a defect, but never fails a correct transport.
int WrittenInTheEnd(const std::atomic<int>& written) {
  int seen = 0;
  do {
    seen = written;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  } while (seen == 0 || seen != written);
  return seen;
}

TEST_CASE("A slow sink blocks only its own stream", "[http_stream]") {
  constexpr int kChunkCount = 400;
  std::atomic<int> written{0};
  LoopbackServer server([&](Connection& connection, const std::string& request) {
    if (!request.starts_with("GET /watch")) return connection.Answer(200, "{}");
    connection.Write(kChunked);
    const std::string chunk = std::string(99'999, 'x') + "\n";
    for (int i = 0; i < kChunkCount && connection.WriteChunk(chunk); ++i) ++written;
    return connection.WriteChunk("");
  });
  const auto transport = MakeTransport({.server = server.url()});
  int written_while_blocked = 0;
  Lines sink([&](std::string_view) {
    if (written_while_blocked != 0) return true;
    // The sink may use the transport, and so may every other caller.
    if (!transport->Send(Patiently(), Get("/other")).ok()) return false;
    Lines inner;
    LoopbackServer other(Chunks({"x\n"}));
    if (!MakeTransport({.server = other.url()})->Stream(Patiently(), Get("/w"), inner).ok()) return false;
    written_while_blocked = WrittenInTheEnd(written);
    return true;
  });
  const absl::StatusOr<HttpResponse> head = transport->Stream(Patiently(), Get("/watch"), sink);
  REQUIRE(head.ok());
  CHECK(sink.lines.size() == kChunkCount);
  CHECK(written_while_blocked > 0);
  CHECK(written_while_blocked <
        kChunkCount / 2);  // The rest had to wait in the server, because sockets buffer only a few MB.
}

TEST_CASE("Many streams run in parallel", "[http_stream]") {
  LoopbackServer server([](Connection& connection, const std::string&) {
    connection.Write(kChunked);
    for (int i = 0; i < 200; ++i) connection.WriteChunk(fmt::format("{}\n", i));
    return connection.WriteChunk("");
  });
  const auto transport = MakeTransport({.server = server.url()});
  std::atomic<int> complete{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      Lines sink;
      if (transport->Stream(Patiently(), Get("/w"), sink).ok() && sink.lines.size() == 200) ++complete;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(complete == 16);
}

}  // namespace
}  // namespace driverupgrade
