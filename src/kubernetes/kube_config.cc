#include "driverupgrade/kubernetes/kube_config.h"

#include <algorithm>
#include <exception>
#include <filesystem>

#include "fmt/format.h"
#include "kubernetes/kube_config_exec.h"
#include "kubernetes/kube_config_yaml.h"
#include "kubernetes/read_file.h"
#include "kubernetes/server_url.h"

namespace driverupgrade {
namespace {

constexpr std::size_t kDocumentSizeMax = 1 << 20;
constexpr std::size_t kCredentialSizeMax = 1 << 20;

absl::Status Invalid(const YamlEntry& entry, const char* key, std::string_view why) {
  return YamlError(absl::StatusCode::kInvalidArgument, entry.PathOf(key), why);
}

absl::Status Unsupported(const YamlEntry& entry, const char* key, std::string_view why) {
  return YamlError(absl::StatusCode::kUnimplemented, entry.PathOf(key), why);
}

absl::Status Prefixed(const absl::Status& status, std::string_view prefix) {
  return absl::Status(status.code(), fmt::format("{}: {}", prefix, std::string(status.message())));
}

bool IsDnsLabel(std::string_view text) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), inner) && text.front() != '-' &&
         text.back() != '-';
}

// Returns true for a host name or an address. Other text is not safe, because the name becomes a header line and the
// SNI.
bool IsServerName(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '*';
  };
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), allowed);
}

std::string Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

// Fills a KubeConfig from one context of a document. Error messages start with the path in the document.
class Reader {
 public:
  Reader(const YamlEntry& root, const KubeConfig::ParseOptions& options) : root_(root), options_(options) {}

  absl::StatusOr<KubeConfig> Read() {
    for (auto step : {&Reader::ReadContext, &Reader::ReadCluster, &Reader::ReadTrust, &Reader::ReadUser,
                      &Reader::ReadCertificate, &Reader::ReadExec}) {
      absl::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    return std::move(config_);
  }

 private:
  absl::Status ReadContext() {
    absl::StatusOr<std::string> kind = root_.Text("kind");
    if (!kind.ok()) return kind.status();
    if (!kind->empty() && *kind != "Config") return Invalid(root_, "kind", "must be Config");
    absl::StatusOr<std::string> version = root_.Text("apiVersion");
    if (!version.ok()) return version.status();
    if (!version->empty() && *version != "v1") return Invalid(root_, "apiVersion", "must be v1");
    absl::StatusOr<std::string> name = root_.Text("current-context");
    if (!name.ok()) return name.status();
    if (!options_.context.empty()) name = options_.context;
    if (name->empty()) return Invalid(root_, "current-context", "not set");
    absl::StatusOr<YamlEntry> context = root_.Named("contexts", "context", *name);
    if (!context.ok()) return context.status();
    context_ = *std::move(context);
    absl::StatusOr<std::string> ns = context_.Text("namespace");
    if (!ns.ok()) return ns.status();
    if (ns->empty()) return absl::OkStatus();
    if (!IsDnsLabel(*ns)) return Invalid(context_, "namespace", "not a name that a namespace can have");
    config_.ns = *std::move(ns);
    return absl::OkStatus();
  }

  absl::Status ReadCluster() {
    absl::StatusOr<std::string> name = context_.Text("cluster");
    if (!name.ok()) return name.status();
    if (name->empty()) return Invalid(context_, "cluster", "not set");
    absl::StatusOr<YamlEntry> cluster = root_.Named("clusters", "cluster", *name);
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    absl::StatusOr<std::string> server = cluster_.Text("server");
    if (!server.ok()) return server.status();
    if (server->empty()) return Invalid(cluster_, "server", "not set");
    absl::StatusOr<ServerUrl> url = ParseServerUrl(*server);
    if (!url.ok()) return Prefixed(url.status(), cluster_.PathOf("server"));
    config_.server = url->ToString();
    absl::StatusOr<std::string> proxy = cluster_.Text("proxy-url");
    if (!proxy.ok()) return proxy.status();
    const bool known =
        proxy->starts_with("http://") || proxy->starts_with("https://") || proxy->starts_with("socks5://");
    if (!proxy->empty() && !known) {
      return Invalid(cluster_, "proxy-url", "must start with http://, https:// or socks5://");
    }
    config_.proxy_url = *std::move(proxy);
    return absl::OkStatus();
  }

  absl::Status ReadTrust() {
    absl::StatusOr<std::string> server_name = cluster_.Text("tls-server-name");
    if (!server_name.ok()) return server_name.status();
    if (!server_name->empty() && !IsServerName(*server_name)) {
      return Invalid(cluster_, "tls-server-name", "not a host name");
    }
    config_.tls_server_name = *std::move(server_name);
    absl::StatusOr<std::string> ca = DataOrFile(cluster_, "certificate-authority", "certificate-authority-data");
    if (!ca.ok()) return ca.status();
    config_.ca_pem = *std::move(ca);
    absl::StatusOr<bool> insecure = cluster_.Flag("insecure-skip-tls-verify");
    if (!insecure.ok()) return insecure.status();
    if (!*insecure) return absl::OkStatus();
    if (!config_.ca_pem.empty()) {
      return Invalid(cluster_, "insecure-skip-tls-verify",
                     "conflicts with the certificate authority, which is also set");
    }
    if (!options_.allow_insecure) {
      return Invalid(cluster_, "insecure-skip-tls-verify", "refused: anyone on the network could take the credentials");
    }
    config_.insecure_skip_tls_verify = true;
    return absl::OkStatus();
  }

  absl::Status ReadUser() {
    absl::StatusOr<std::string> name = context_.Text("user");
    if (!name.ok()) return name.status();
    user_ = YamlEntry{.node = YAML::Node(YAML::NodeType::Map), .path = "users"};
    if (name->empty()) return absl::OkStatus();  // Anonymous.
    absl::StatusOr<YamlEntry> user = root_.Named("users", "user", *name);
    if (!user.ok()) return user.status();
    user_ = *std::move(user);
    absl::Status status = RefuseUnsupported();
    if (!status.ok()) return status;
    absl::StatusOr<std::string> token = user_.Text("token");
    if (!token.ok()) return token.status();
    const std::string trimmed = Trimmed(*token);
    if (!token->empty() && trimmed.empty()) return Invalid(user_, "token", "empty");
    if (trimmed.find_first_of(" \t\r\n") != std::string::npos) {
      return Invalid(user_, "token", "contains a space or a line end");
    }
    config_.token = Secret(trimmed);
    absl::StatusOr<std::string> file = user_.Text("tokenFile");
    if (!file.ok()) return file.status();
    if (!file->empty()) config_.token_file = Resolve(*file);
    return absl::OkStatus();
  }

  // Rejects entries that require an external program or another protocol. Like client-go, ignores an exec plugin
  // alongside a static credential (api-A73).
  absl::Status RefuseUnsupported() const {
    const bool token = user_.Has("token") || user_.Has("tokenFile");
    const bool certificate = user_.Has("client-certificate") || user_.Has("client-certificate-data");
    for (const char* key : {"username", "password"}) {
      if (!user_.Has(key)) continue;
      if (token) return Invalid(user_, key, "more than one authentication method");
      return Unsupported(user_, key, "user name and password are not supported; use a token or a client certificate");
    }
    for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"}) {
      if (user_.Has(key)) return Unsupported(user_, key, "impersonation is not supported");
    }
    if (user_.Has("auth-provider")) {
      return Unsupported(user_, "auth-provider", "credential plugins are not supported; use a token file");
    }
    if (user_.Has("exec") && !token && !certificate && !options_.allow_exec) {
      return Unsupported(user_, "exec",
                         "credential plugins run only if allow-exec is set; set it, or use a token file");
    }
    return absl::OkStatus();
  }

  absl::Status ReadCertificate() {
    absl::StatusOr<std::string> certificate = DataOrFile(user_, "client-certificate", "client-certificate-data");
    if (!certificate.ok()) return certificate.status();
    absl::StatusOr<std::string> key = DataOrFile(user_, "client-key", "client-key-data");
    if (!key.ok()) return key.status();
    if (certificate->empty() != key->empty()) {
      return Invalid(user_, certificate->empty() ? "client-certificate" : "client-key",
                     fmt::format("not set, but {} is", certificate->empty() ? "client-key" : "client-certificate"));
    }
    config_.client_certificate_pem = *std::move(certificate);
    config_.client_key_pem = Secret(*std::move(key));
    return absl::OkStatus();
  }

  // Must be called last, because a plugin alongside a static credential is ignored.
  absl::Status ReadExec() {
    const bool has_credential =
        !config_.token.empty() || !config_.token_file.empty() || !config_.client_certificate_pem.empty();
    if (!user_.Has("exec") || has_credential) return absl::OkStatus();
    absl::StatusOr<YamlEntry> exec = user_.Mapping("exec");
    if (!exec.ok()) return exec.status();
    absl::StatusOr<ExecPlugin> plugin = ReadExecPlugin(*exec, options_.base_dir);
    if (!plugin.ok()) return plugin.status();
    config_.exec = *std::move(plugin);
    return absl::OkStatus();
  }

  // Returns the content of the file that `file_key` names, or the decoded value of `data_key`, or an empty string if
  // neither key is set.
  absl::StatusOr<std::string> DataOrFile(const YamlEntry& entry, const char* file_key, const char* data_key) const {
    absl::StatusOr<std::string> file = entry.Text(file_key);
    if (!file.ok()) return file.status();
    absl::StatusOr<std::string> data = entry.Text(data_key);
    if (!data.ok()) return data.status();
    if (!file->empty() && !data->empty())
      return Invalid(entry, data_key, fmt::format("set in addition to {}", file_key));
    const char* key = data->empty() ? file_key : data_key;
    if (file->empty() && data->empty()) return std::string();
    absl::StatusOr<std::string> content =
        data->empty() ? ReadFile(Resolve(*file), kCredentialSizeMax) : DecodeBase64(*data);
    if (!content.ok()) {
      const std::string where =
          data->empty() ? fmt::format("{}: {}", entry.PathOf(key), Resolve(*file)) : entry.PathOf(key);
      return Prefixed(content.status(), where);
    }
    if (Trimmed(*content).empty()) return Invalid(entry, key, "empty");
    return content;
  }

  std::string Resolve(const std::string& file) const {
    return (std::filesystem::path(options_.base_dir) / file).string();
  }

  const YamlEntry& root_;
  const KubeConfig::ParseOptions& options_;
  YamlEntry context_ = {};
  YamlEntry cluster_ = {};
  YamlEntry user_ = {};
  KubeConfig config_ = {};
};

absl::StatusOr<KubeConfig> ParseDocument(std::string_view yaml, const KubeConfig::ParseOptions& options) {
  absl::StatusOr<YamlEntry> root = LoadBoundedYaml(yaml);
  if (!root.ok()) return root.status();
  try {
    return Reader(*root, options).Read();
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(fmt::format("cannot be read: {}", e.what()));
  }
}

}  // namespace

absl::StatusOr<KubeConfig> KubeConfig::Parse(std::string_view yaml, const ParseOptions& options) {
  absl::StatusOr<KubeConfig> config = ParseDocument(yaml, options);
  if (config.ok()) return config;
  return Prefixed(config.status(),
                  options.source.empty() ? "kubeconfig" : fmt::format("kubeconfig {}", options.source));
}

absl::StatusOr<KubeConfig> KubeConfig::LoadFile(const std::string& path) { return LoadFile(path, {}); }

absl::StatusOr<KubeConfig> KubeConfig::LoadFile(const std::string& path, ParseOptions options) {
  absl::StatusOr<std::string> yaml = ReadFile(path, kDocumentSizeMax);
  if (!yaml.ok()) return Prefixed(yaml.status(), fmt::format("kubeconfig {}", path));
  if (options.base_dir.empty()) options.base_dir = std::filesystem::path(path).parent_path().string();
  if (options.source.empty()) options.source = path;
  absl::StatusOr<KubeConfig> config = Parse(*yaml, options);
  if (!config.ok()) return config;
  std::error_code error;
  const std::filesystem::perms mode = std::filesystem::status(path, error).permissions();
  constexpr auto kOthers = std::filesystem::perms::group_read | std::filesystem::perms::others_read;
  if (!error && (mode & kOthers) != std::filesystem::perms::none) {
    config->warnings.push_back(fmt::format("kubeconfig {}: readable by group or others", path));
  }
  return config;
}

absl::StatusOr<KubeConfig> KubeConfig::InCluster(const InClusterParams& params) {
  if (params.host.empty() || params.port.empty()) {
    return absl::FailedPreconditionError("not in a cluster: the host or the port of the API server is missing");
  }
  const bool bare_ipv6 = params.host.find(':') != std::string::npos && params.host.front() != '[';
  const std::string host = bare_ipv6 ? fmt::format("[{}]", params.host) : params.host;
  absl::StatusOr<ServerUrl> url = ParseServerUrl(fmt::format("https://{}:{}", host, params.port));
  if (!url.ok()) return Prefixed(url.status(), "in-cluster server address");
  KubeConfig config{.server = url->ToString()};
  const std::filesystem::path directory(params.directory);
  config.token_file = (directory / "token").string();
  absl::StatusOr<std::string> token = ReadFile(config.token_file, kCredentialSizeMax);
  if (!token.ok()) return Prefixed(token.status(), fmt::format("service account {}", config.token_file));
  const std::string ca_file = (directory / "ca.crt").string();
  absl::StatusOr<std::string> ca = ReadFile(ca_file, kCredentialSizeMax);
  if (!ca.ok()) return Prefixed(ca.status(), fmt::format("service account {}", ca_file));
  if (Trimmed(*token).empty()) {
    return absl::InvalidArgumentError(fmt::format("service account {}: empty", config.token_file));
  }
  if (Trimmed(*ca).empty()) return absl::InvalidArgumentError(fmt::format("service account {}: empty", ca_file));
  config.ca_pem = *std::move(ca);
  absl::StatusOr<std::string> ns = ReadFile((directory / "namespace").string(), 1024);
  if (ns.ok() && IsDnsLabel(Trimmed(*ns))) config.ns = Trimmed(*ns);
  return config;
}

}  // namespace driverupgrade
