#include "driverupgrade/kubernetes/kube_config.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>

#include "support/catch.h"

namespace driverupgrade {
namespace {

// In Base64, "Q0E=" is "CA", "Q0VSVA==" is "CERT", and "S0VZ" is "KEY".
constexpr char kGood[] = R"(
apiVersion: v1
kind: Config
current-context: prod
preferences: {}
clusters:
- name: dev
  cluster: {server: "http://127.0.0.1:8080"}
- name: prod
  cluster:
    server: https://api.example.com:6443/prefix/?x=1#y
    certificate-authority-data: Q0E=
    tls-server-name: kubernetes
    proxy-url: http://proxy:3128
contexts:
- name: prod
  context: {cluster: prod, user: admin, namespace: gpu-operator}
- name: dev
  context: {cluster: dev, user: nobody}
users:
- name: nobody
- name: admin
  user:
    token: " secret-token "
    client-certificate-data: Q0VSVA==
    client-key-data: |
      S0
      VZ
)";

// Returns a document with the given fields in its current cluster, user, and context.
std::string Document(const std::string& cluster, const std::string& user, const std::string& context = "") {
  return "current-context: c\n"
         "contexts: [{name: c, context: {cluster: k, user: u" +
         context +
         "}}]\n"
         "clusters: [{name: other}, {name: k, cluster: {" +
         cluster +
         "}}]\n"
         "users: [{name: other, user: {}}, {name: u, user: {" +
         user + "}}]\n";
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// A directory that is removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "driverupgrade-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string Write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return Path(name);
  }
  std::string Path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

template <typename T, typename = void>
struct IsPrintable : std::false_type {};
template <typename T>
struct IsPrintable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>>
    : std::true_type {};
static_assert(!IsPrintable<Secret>::value && IsPrintable<std::string>::value);
static_assert(!std::is_convertible_v<Secret, std::string> && !std::is_convertible_v<std::string, Secret>);

TEST_CASE("The current context of a kubeconfig provides the server, its CA, and the identity", "[kube_config]") {
  const absl::StatusOr<KubeConfig> config = KubeConfig::Parse(kGood, {});
  REQUIRE(config.ok());
  CHECK(config->server == "https://api.example.com:6443/prefix");
  CHECK(config->ca_pem == "CA");
  CHECK(config->tls_server_name == "kubernetes");
  CHECK_FALSE(config->insecure_skip_tls_verify);
  CHECK(config->token.Reveal() == "secret-token");
  CHECK(config->token_file.empty());
  CHECK(config->client_certificate_pem == "CERT");
  CHECK(config->client_key_pem.Reveal() == "KEY");
  CHECK(config->proxy_url == "http://proxy:3128");
  CHECK(config->ns == "gpu-operator");
}

TEST_CASE("Another context can be selected, and may have no credentials", "[kube_config]") {
  const absl::StatusOr<KubeConfig> config = KubeConfig::Parse(kGood, {.context = "dev"});
  REQUIRE(config.ok());
  CHECK(config->server == "http://127.0.0.1:8080");
  CHECK(config->token.empty());
  CHECK(config->ns == "default");
  CHECK(KubeConfig::Parse(kGood, {.context = "x"}).status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("A kubeconfig in JSON is parsed as YAML", "[kube_config]") {
  const absl::StatusOr<KubeConfig> config = KubeConfig::Parse(
      R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k"}}],
          "clusters":[{"name":"k","cluster":{"server":"https://[2001:db8::1]"}}]})",
      {});
  REQUIRE(config.ok());
  CHECK(config->server == "https://[2001:db8::1]:443");
}

struct BadRow {
  std::string name;
  std::string cluster;
  std::string user;
  absl::StatusCode code;
  std::string message;
};

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr char kServer[] = "server: https://h";

// Tests rule api-A70.
TEST_CASE("An unusable kubeconfig is refused with the position of the error", "[kube_config]") {
  const BadRow row = GENERATE(values<BadRow>({
      {"no server", "", "", kInvalid, "clusters[1].cluster.server: not set"},
      {"no scheme", "server: h:6443", "", kInvalid, "clusters[1].cluster.server: must start with https:// or http://"},
      {"no host", "server: 'https://'", "", kInvalid, "clusters[1].cluster.server: has no host"},
      {"bad port", "server: 'https://h:0'", "", kInvalid,
       "clusters[1].cluster.server: has a port that is not a number from 1 to 65535"},
      {"password", "server: 'https://u:secret@h'", "", kInvalid,
       "clusters[1].cluster.server: must not contain a user name or a password"},
      {"line break in host", "server: \"https://h\\r\\nX: y\"", "", kInvalid,
       "clusters[1].cluster.server: has a host with a character that is not valid in a name or address"},
      {"server is a list", "server: [x]", "", kInvalid, "clusters[1].cluster.server: must be text"},
      {"control character", "server: \"https://h\\u0001\"", "", kInvalid,
       "clusters[1].cluster.server: has a control character"},
      {"CA twice", "server: https://h, certificate-authority: f, certificate-authority-data: Q0E=", "", kInvalid,
       "clusters[1].cluster.certificate-authority-data: set in addition to certificate-authority"},
      {"CA not base64", "server: https://h, certificate-authority-data: 'Q0E'", "", kInvalid,
       "clusters[1].cluster.certificate-authority-data: not base64"},
      {"CA empty", "server: https://h, certificate-authority-data: 'IAo='", "", kInvalid,
       "clusters[1].cluster.certificate-authority-data: empty"},
      {"CA file missing", "server: https://h, certificate-authority: no/such", "", absl::StatusCode::kNotFound,
       "clusters[1].cluster.certificate-authority: /base/no/such: No such file or directory"},
      {"insecure", "server: https://h, insecure-skip-tls-verify: true", "", kInvalid,
       "clusters[1].cluster.insecure-skip-tls-verify: refused: anyone on the network could take the "
       "credentials"},
      {"insecure with CA", "server: https://h, insecure-skip-tls-verify: true, certificate-authority-data: Q0E=", "",
       kInvalid,
       "clusters[1].cluster.insecure-skip-tls-verify: conflicts with the certificate authority, which is also set"},
      {"insecure is no flag", "server: https://h, insecure-skip-tls-verify: 'yes'", "", kInvalid,
       "clusters[1].cluster.insecure-skip-tls-verify: must be true or false"},
      {"server name", "server: https://h, tls-server-name: \"a\\nb\"", "", kInvalid,
       "clusters[1].cluster.tls-server-name: not a host name"},
      {"proxy", "server: https://h, proxy-url: 'ftp://p'", "", kInvalid,
       "clusters[1].cluster.proxy-url: must start with http://, https:// or socks5://"},
      {"key not base64", kServer, "client-certificate-data: Q0VSVA==, client-key-data: '%%'", kInvalid,
       "users[1].user.client-key-data: not base64"},
      {"padding inside", kServer, "client-certificate-data: Q0VSVA==, client-key-data: 'Q0==Q0E='", kInvalid,
       "users[1].user.client-key-data: not base64"},
      {"certificate alone", kServer, "client-certificate-data: Q0VSVA==", kInvalid,
       "users[1].user.client-key: not set, but client-certificate is"},
      {"key alone", kServer, "client-key-data: S0VZ", kInvalid,
       "users[1].user.client-certificate: not set, but client-key is"},
      {"key twice", kServer, "client-certificate-data: Q0VSVA==, client-key-data: S0VZ, client-key: f", kInvalid,
       "users[1].user.client-key-data: set in addition to client-key"},
      {"token with a line end", kServer, "token: \"a\\nb\"", kInvalid,
       "users[1].user.token: contains a space or a line end"},
      {"token empty", kServer, "token: ' '", kInvalid, "users[1].user.token: empty"},
      {"password login", kServer, "username: u, password: p", kUnimplemented,
       "users[1].user.username: user name and password are not supported; use a token or a client "
       "certificate"},
      {"two methods", kServer, "username: u, token: t", kInvalid,
       "users[1].user.username: more than one authentication method"},
      {"exec", kServer, "exec: {command: aws}", kUnimplemented,
       "users[1].user.exec: credential plugins run only if allow-exec is set; set it, or use a token file"},
      {"auth-provider", kServer, "auth-provider: {name: gcp}", kUnimplemented,
       "users[1].user.auth-provider: credential plugins are not supported; use a token file"},
      {"impersonation", kServer, "token: t, as-groups: [g]", kUnimplemented,
       "users[1].user.as-groups: impersonation is not supported"},
      {"duplicate key", "server: https://h, server: https://i", "", kInvalid,
       "clusters[1].cluster.server: duplicate key"},
  }));
  INFO(row.name);
  const absl::StatusOr<KubeConfig> config =
      KubeConfig::Parse(Document(row.cluster, row.user), {.base_dir = "/base", .source = "FILE"});
  REQUIRE_FALSE(config.ok());
  CHECK(config.status().code() == row.code);
  CHECK(MessageOf(config.status()) == "kubeconfig FILE: " + row.message);
}

TEST_CASE("A document that is not a kubeconfig is refused", "[kube_config]") {
  struct Row {
    std::string name, yaml, message;
  };
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "{a: ";
  std::string abyss(200'000, '[');
  std::string bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\n";
  for (char c = 'b'; c < 'h'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += std::string(i == 0 ? "*" : ",*") + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  const std::string good = Document(kServer, "");
  for (const Row& row : {
           Row{"empty", "", "empty"},
           Row{"blank", "---\n", "empty"},
           Row{"a list", "[a]", "not a mapping"},
           Row{"text", "hello", "not a mapping"},
           Row{"a lone comma, on which yaml-cpp's LoadAll never ends", ",", "more than one document"},
           Row{"two documents", good + "---\n" + good, "more than one document"},
           Row{"unclosed", "a: [b", "not YAML"},
           Row{"unknown alias", "a: *b", "not YAML"},
           Row{"key is a list", "[a]: b", "keys must be strings"},
           Row{"deep", deep + "b" + std::string(100, '}'), "nested deeper than 32"},
           Row{"very deep", abyss, "not YAML"},
           Row{"alias bomb", bomb, "more than 100000 nodes, with aliases expanded"},
           Row{"cycle", "a: &a [*a]", "nested deeper than 32"},
           Row{"too long", std::string((1 << 20) + 1, ' '), "longer than 1048576 bytes"},
           Row{"wrong kind", "kind: Pod\n" + good, "kind: must be Config"},
           Row{"wrong version", "apiVersion: v2\n" + good, "apiVersion: must be v1"},
           Row{"no context", "clusters: []", "current-context: not set"},
           Row{"contexts no list", "current-context: c\ncontexts: {}", "contexts: must be a list"},
           Row{"context no mapping", "current-context: c\ncontexts: [c]", "contexts[0]: must be a mapping"},
           Row{"context missing", "current-context: c", "contexts: none is named \"c\""},
           Row{"two of that name", "current-context: c\ncontexts: [{name: c}, {name: c}]",
               "contexts[1].name: second one named \"c\""},
           Row{"context without cluster", "current-context: c\ncontexts: [{name: c}]",
               "contexts[0].context.cluster: not set"},
           Row{"cluster missing", "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]",
               "clusters: none is named \"k\""},
           Row{"namespace", Document(kServer, "", ", namespace: Not_A_Label"),
               "contexts[0].context.namespace: not a name that a namespace can have"},
       }) {
    INFO(row.name);
    const absl::Status status = KubeConfig::Parse(row.yaml, {}).status();
    REQUIRE_FALSE(status.ok());
    CHECK_THAT(MessageOf(status), Catch::StartsWith("kubeconfig: ") && Catch::Contains(row.message));
  }
}

TEST_CASE("insecure-skip-tls-verify can be allowed, and unused authentication methods are ignored", "[kube_config]") {
  const std::string insecure = Document("server: https://h, insecure-skip-tls-verify: true", "token: t");
  const absl::StatusOr<KubeConfig> allowed = KubeConfig::Parse(insecure, {.allow_insecure = true});
  REQUIRE(allowed.ok());
  CHECK(allowed->insecure_skip_tls_verify);
  // Like client-go, the parser ignores a plugin if there is also a static credential.
  CHECK(KubeConfig::Parse(Document(kServer, "token: t, exec: {command: aws}"), {}).ok());
  CHECK(KubeConfig::Parse(Document(kServer, "token: ~, username: null"), {}).ok());
}

TEST_CASE("Relative file names in a kubeconfig are resolved against the directory of the kubeconfig", "[kube_config]") {
  const TemporaryFolder folder;
  folder.Write("pki/ca.crt", "THE CA");
  folder.Write("pki/client.crt", "THE CERT");
  folder.Write("pki/client.key", "THE KEY");
  const std::string path = folder.Write("config", Document("server: https://h, certificate-authority: pki/ca.crt",
                                                           "client-certificate: pki/client.crt, client-key: " +
                                                               folder.Path("pki/client.key") + ", tokenFile: token"));
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  const absl::StatusOr<KubeConfig> config = KubeConfig::LoadFile(path);
  REQUIRE(config.ok());
  CHECK(config->ca_pem == "THE CA");
  CHECK(config->client_certificate_pem == "THE CERT");
  CHECK(config->client_key_pem.Reveal() == "THE KEY");
  CHECK(config->token_file == folder.Path("token"));
  CHECK(config->warnings.empty());

  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::group_read);
  CHECK(KubeConfig::LoadFile(path)->warnings ==
        std::vector<std::string>{"kubeconfig " + path + ": readable by group or others"});
}

TEST_CASE("The error about an unreadable kubeconfig file contains the path of the file", "[kube_config]") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("none");
  const absl::Status status = KubeConfig::LoadFile(path).status();
  CHECK(status.code() == absl::StatusCode::kNotFound);
  CHECK(MessageOf(status) == "kubeconfig " + path + ": No such file or directory");
  CHECK(KubeConfig::LoadFile(folder.Path("")).status().code() == absl::StatusCode::kInvalidArgument);
  const std::string bad = folder.Write("bad", "[");
  CHECK_THAT(MessageOf(KubeConfig::LoadFile(bad).status()), Catch::StartsWith("kubeconfig " + bad + ": line "));
}

// Tests rule api-A65.
TEST_CASE("The service account of a pod provides the server, its CA, and the token file", "[kube_config]") {
  const TemporaryFolder folder;
  KubeConfig::InClusterParams params{.host = "10.0.0.1", .port = "443", .directory = folder.Path("")};
  CHECK(KubeConfig::InCluster(params).status().code() == absl::StatusCode::kNotFound);
  folder.Write("token", "abc\n");
  CHECK(MessageOf(KubeConfig::InCluster(params).status()) ==
        "service account " + folder.Path("ca.crt") + ": No such file or directory");
  folder.Write("ca.crt", "CA");
  REQUIRE(KubeConfig::InCluster(params).ok());
  CHECK(KubeConfig::InCluster(params)->ns == "default");
  folder.Write("namespace", "gpu-operator\n");
  const absl::StatusOr<KubeConfig> config = KubeConfig::InCluster(params);
  REQUIRE(config.ok());
  CHECK(config->server == "https://10.0.0.1:443");
  CHECK(config->ca_pem == "CA");
  CHECK(config->token.empty());
  CHECK(config->token_file == folder.Path("token"));
  CHECK(config->ns == "gpu-operator");

  params.host = "fd00::1";
  CHECK(KubeConfig::InCluster(params)->server == "https://[fd00::1]:443");
  params.port = "x";
  CHECK(KubeConfig::InCluster(params).status().code() == absl::StatusCode::kInvalidArgument);
  params.port = "";
  CHECK(KubeConfig::InCluster(params).status().code() == absl::StatusCode::kFailedPrecondition);
  params.port = "443";
  folder.Write("token", " \n");
  CHECK(KubeConfig::InCluster(params).status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace driverupgrade
