// Tests credential plugins, from the kubeconfig to the token.
#include "kubernetes/exec_plugin.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "kubernetes/run_program.h"
#include "kubernetes/token_source.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

constexpr char kV1[] = "client.authentication.k8s.io/v1";

std::string Message(const absl::Status& status) { return std::string(status.message()); }

std::string Credential(const std::string& status) {
  return fmt::format(R"({{"apiVersion":"{}","kind":"ExecCredential","status":{}}})", kV1, status);
}

class TemporaryFolder {
 public:
  TemporaryFolder() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "driverupgrade-exec-XXXXXX").string();
};

// Returns a plugin that runs the given shell script.
ExecPlugin Script(const std::string& script) {
  return {.api_version = kV1, .command = "/bin/sh", .args = {"-c", script}};
}

ExecPlugin Printing(const std::string& text) { return Script(fmt::format("cat <<'END'\n{}\nEND", text)); }

std::string KubeConfigWith(const std::string& exec) {
  return fmt::format(
      "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
      "clusters: [{{name: k, cluster: {{server: https://h}}}}]\nusers: [{{name: u, user: {{exec: {}}}}}]\n",
      exec);
}

TEST_CASE("A plugin returns a token and an optional expiry time", "[exec_plugin]") {
  const absl::StatusOr<ExecCredential> plain = ParseExecCredential(Credential(R"({"token":"t0ken"})"), kV1);
  REQUIRE(plain.ok());
  CHECK(plain->token.Reveal() == "t0ken");
  CHECK(plain->expires == absl::InfiniteFuture());
  const auto timed =
      ParseExecCredential(Credential(R"({"token":"t","expirationTimestamp":"2026-01-01T00:00:00Z"})"), kV1);
  REQUIRE(timed.ok());
  CHECK(timed->expires == absl::FromUnixSeconds(1767225600));
}

TEST_CASE("Invalid output of a plugin is refused, and the error does not repeat it", "[exec_plugin]") {
  for (const std::string& text :
       {std::string("t0ken"), std::string(R"({"kind":"t0ken"})"), std::string("[]"), std::string(),
        std::string(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",)"
                    R"("status":{"token":"t0ken"}})"),
        Credential(R"({"token":["t0ken"]})"), Credential("{}"), Credential("null"),
        Credential(R"({"token":"t0ken","expirationTimestamp":"soon t0ken"})"),
        Credential(R"({"token":"t0ken","clientCertificateData":"x","clientKeyData":"t0ken"})")}) {
    INFO(text);
    const absl::Status status = ParseExecCredential(text, kV1).status();
    CHECK_FALSE(status.ok());
    CHECK_THAT(Message(status), !Catch::Contains("t0ken"));
  }
}

TEST_CASE("A plugin receives the exec information, and inherits neither a terminal nor our open files",
          "[exec_plugin]") {
  const absl::StatusOr<std::string> output = RunProgram(
      {.command = {"/bin/sh", "-c", R"(read line && exit 3; ls /proc/self/fd | tr '\n' ' '; echo "$GREETING")"},
       .environment = {"GREETING=hello"}});
  REQUIRE(output.ok());
  // File descriptor 3 is the directory that `ls` itself reads.
  CHECK(*output == "0 1 2 3 hello\n");
  ExecPlugin plugin = Script(R"sh(
      case "$KUBERNETES_EXEC_INFO" in
      *'"kind":"ExecCredential","spec":{"interactive":false}'*)
        echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$GOOD'"}}'
      esac)sh");
  plugin.env = {{"GOOD", "good"}};
  const absl::StatusOr<ExecCredential> credential = RunExecPlugin(plugin, absl::Minutes(2));
  REQUIRE(credential.ok());
  CHECK(credential->token.Reveal() == "good");
}

TEST_CASE("The error about a failed plugin names its command, but does not contain its output", "[exec_plugin]") {
  struct Row {
    ExecPlugin plugin;
    const char* why;
  };
  for (const Row& row : {
           Row{Script("echo t0ken; echo t0ken >&2; exit 7"), "credential plugin /bin/sh: exit code 7"},
           Row{Script("kill -9 $$"), "credential plugin /bin/sh: terminated by a signal"},
           Row{{.api_version = kV1, .command = "/no/such/program"},
               "credential plugin /no/such/program: no such program"},
           Row{Printing("t0ken"), "credential plugin /bin/sh: the plugin's output is not an ExecCredential"},
           Row{Script("yes t0ken"), "credential plugin /bin/sh: prints more than 1048576 bytes"},
       }) {
    const absl::Status status = RunExecPlugin(row.plugin, absl::Minutes(2)).status();
    CHECK(absl::IsUnauthenticated(status));
    CHECK(Message(status) == row.why);
  }
}

// Returns true if the process has exited, even if it is a zombie that its new parent has not reaped yet.
bool IsOver(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string number;
  std::string name;
  std::string state;
  return !(file >> number >> name >> state) || state == "Z" || state == "X";
}

// Polls until the condition holds. Returns false if the condition does not hold within two minutes.
bool Eventually(const std::function<bool()>& is_so) {
  for (int i = 0; i < 12'000; ++i) {
    if (is_so()) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return is_so();
}

TEST_CASE("A plugin that does not exit is killed together with all processes that it has started", "[exec_plugin]") {
  const TemporaryFolder folder;
  const std::string started = folder.path() + "/started";
  for (const char* script : {"sleep 600 & echo $! > {0}.part; mv {0}.part {0}; wait",
                             "sleep 600 & echo $! > {0}.part; mv {0}.part {0}; exit 0",
                             "exec >&-; sleep 600 & echo $! > {0}.part; mv {0}.part {0}; wait"}) {
    INFO(script);
    const auto plugin = [&](const std::string& file) { return Script(fmt::format(fmt::runtime(script), file)); };
    CHECK(Message(RunExecPlugin(plugin(folder.path() + "/other"), absl::Milliseconds(50)).status()) ==
          "credential plugin /bin/sh: still running after 50ms");
    // The timeout of 50 ms may have expired before the script started. The stop request is sent only after the start.
    std::filesystem::remove(started);
    std::stop_source stop;
    std::thread stopper([&] {
      Eventually([&] { return std::filesystem::exists(started); });
      stop.request_stop();
    });
    const absl::Status status = RunExecPlugin(plugin(started), absl::Hours(1), stop.get_token()).status();
    stopper.join();
    CHECK(Message(status) == "credential plugin /bin/sh: stop requested");
    pid_t pid = 0;
    REQUIRE(std::ifstream(started) >> pid);
    // The plugin's child process exits only when the kernel delivers the signal, which may be a little later.
    CHECK(Eventually([&] { return IsOver(pid); }));
  }
}

TEST_CASE("A token is kept until it expires or is refused", "[exec_plugin]") {
  const TemporaryFolder folder;
  // Each run prints a different token.
  const std::string count = fmt::format("{}/count", folder.path());
  const auto plugin = [&](const std::string& expires) {
    return Script(fmt::format(
        R"(echo x >> {0}; printf '{{"apiVersion":"{1}","kind":"ExecCredential","status":{{"token":"t%s"{2}}}}}' )"
        R"($(grep -c x {0}))",
        count, kV1, expires));
  };
  using Now = TokenSource::Now;
  const Now now{std::chrono::hours(1000)};
  const auto created = [&](const std::string& expires) {
    return *TokenSource::Create({.server = "https://h", .exec = plugin(expires)}, {}, now);
  };
  SECTION("without an expiry time, until it is refused") {
    const auto tokens = created("");
    CHECK(tokens->Get(now)->Reveal() == "t1");
    CHECK(tokens->Get(now + std::chrono::hours(100))->Reveal() == "t1");
    CHECK(tokens->Renew(Secret("t1"), now));
    CHECK(tokens->Get(now)->Reveal() == "t2");
    CHECK_FALSE(tokens->Renew(Secret("t2"), now + std::chrono::milliseconds(500)));
  }
  SECTION("with an expiry time, until that time") {
    const std::string hour = absl::FormatTime(absl::RFC3339_sec, absl::Now() + absl::Hours(1), absl::UTCTimeZone());
    const auto tokens = created(fmt::format(R"(,"expirationTimestamp":"{}")", hour));
    CHECK(tokens->Get(now)->Reveal() == "t1");
    CHECK(tokens->Get(now + std::chrono::minutes(50))->Reveal() == "t1");
    CHECK(tokens->Get(now + std::chrono::minutes(61))->Reveal() == "t2");
  }
}

TEST_CASE("If there is no token, a failing plugin runs at most once a minute, and all calls in between fail",
          "[exec_plugin]") {
  const TemporaryFolder folder;
  const std::string runs = folder.path() + "/runs";
  const TokenSource::Now now{std::chrono::hours(1000)};
  const auto tokens =
      *TokenSource::Create({.server = "https://h", .exec = Script(fmt::format("echo x >> {}; exit 1", runs))}, {}, now);
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = tokens->Get(now + std::chrono::seconds(i)).status();
    CHECK(absl::IsUnauthenticated(status));
    CHECK(RequestWasNotSent(status));
  }
  CHECK(std::filesystem::file_size(runs) == 2);
  CHECK_FALSE(tokens->Get(now + std::chrono::minutes(30)).ok());
  CHECK(std::filesystem::file_size(runs) == 4);
}

TEST_CASE("A caller that is asked to stop does not wait for a plugin, and reports that it was cancelled",
          "[exec_plugin]") {
  const TokenSource::Now now{std::chrono::hours(1000)};
  const auto tokens = *TokenSource::Create({.server = "https://h", .exec = Script("sleep 600")}, {}, now);
  std::stop_source stop;
  stop.request_stop();
  const absl::Status status = tokens->Get(now, stop.get_token()).status();
  CHECK(absl::IsCancelled(status));
  CHECK(Message(status) == "credential plugin /bin/sh: stop requested");
}

TEST_CASE("The plugin in a kubeconfig is read only if plugins are allowed", "[exec_plugin]") {
  const std::string document = KubeConfigWith(
      "{apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: [-a, 'b c'], "
      "env: [{name: X, value: y}], interactiveMode: Never}");
  CHECK(absl::IsUnimplemented(KubeConfig::Parse(document, {}).status()));
  const auto config = KubeConfig::Parse(document, {.base_dir = "/base", .allow_exec = true});
  REQUIRE(config.ok());
  CHECK(config->exec ==
        ExecPlugin{.api_version = kV1, .command = "/base/./bin/login", .args = {"-a", "b c"}, .env = {{"X", "y"}}});
}

TEST_CASE("A plugin with an invalid or unsupported configuration is refused", "[exec_plugin]") {
  struct Row {
    const char* exec;
    const char* why;
  };
  for (const Row& row : {
           Row{"{command: a}", "apiVersion: must be"},
           Row{"{apiVersion: client.authentication.k8s.io/v1alpha1, command: a}", "apiVersion: must be"},
           Row{"{apiVersion: client.authentication.k8s.io/v1}", "command: not set"},
           Row{"{apiVersion: client.authentication.k8s.io/v1, command: a, args: b}", "args: must be a list"},
           Row{"{apiVersion: client.authentication.k8s.io/v1, command: a, args: [[b]]}", "args[0]: must be text"},
           Row{"{apiVersion: client.authentication.k8s.io/v1, command: a, env: [b]}", "env[0]: must be a mapping"},
           Row{"{apiVersion: client.authentication.k8s.io/v1, command: a, env: [{name: 'b=c'}]}", "env[0].name: not a"},
           Row{"{apiVersion: client.authentication.k8s.io/v1, command: a, provideClusterInfo: true}",
               "provideClusterInfo: not supported"},
           Row{"{apiVersion: client.authentication.k8s.io/v1, command: a, interactiveMode: Always}",
               "interactiveMode: Always is not supported, because plugins run without a terminal"},
           Row{"a", "exec: must be a mapping"},
       }) {
    INFO(row.exec);
    const absl::Status status = KubeConfig::Parse(KubeConfigWith(row.exec), {.allow_exec = true}).status();
    CHECK_FALSE(status.ok());
    CHECK_THAT(Message(status), Catch::Contains(row.why));
  }
}

}  // namespace
}  // namespace driverupgrade
