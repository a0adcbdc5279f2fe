/// Address of the API server and credentials for it, read from a kubeconfig file or from a pod's service account.
///
/// Defines
///  - Secret: text that cannot be printed by accident;
///  - KubeConfig: one server and one identity, ready for a transport;
///  - ExecPlugin: the program that provides the token, if such programs are allowed;
///  - KubeConfig::ParseOptions, KubeConfig::InClusterParams.
///
/// Example (tests/unit/kubernetes/kube_config_test.cc):
///
///     absl::StatusOr<KubeConfig> config = KubeConfig::LoadFile("/etc/operator/kubeconfig");
///     if (!config.ok()) return Fail(config.status());
///     // "kubeconfig /etc/operator/kubeconfig: users[1].user.client-key-data: not base64"
///
/// Nothing here reads the environment, searches for files, opens a connection or runs a program: the caller decides
/// where a configuration comes from. Certificates are read, but not parsed: a transport parses them when it is created.
/// Values; functions are thread-safe. See also cpprest_transport.h.
#ifndef DRIVERUPGRADE_KUBERNETES_KUBE_CONFIG_H_
#define DRIVERUPGRADE_KUBERNETES_KUBE_CONFIG_H_

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/abseil_abi.h"

namespace driverupgrade {

/// Text that must not appear in a log, an error or a metric. It has no conversion to a string, and writing it to a
/// stream does not compile; only Reveal returns the text.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}

  /// Only for the code that needs the text (a header, a TLS library).
  const std::string& Reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

  friend bool operator==(const Secret&, const Secret&) = default;
  friend std::ostream& operator<<(std::ostream&, const Secret&) = delete;

 private:
  std::string text_;
};

/// A program that prints a token.
struct ExecPlugin {
  /// `client.authentication.k8s.io/v1` or `.../v1beta1`.
  std::string api_version = {};
  /// Looked up in PATH unless it contains a "/".
  std::string command = {};
  std::vector<std::string> args = {};
  /// Variables added to the environment that the program inherits from this process. They override inherited variables.
  std::vector<std::pair<std::string, std::string>> env = {};

  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};

/// Settings for connecting to one API server with one identity. Create them with Parse, LoadFile or InCluster, or set
/// the fields directly.
struct KubeConfig {
  struct ParseOptions {
    /// Directory against which relative paths in the document are resolved; the current directory if empty.
    std::string base_dir = {};
    /// The context to use instead of `current-context`.
    std::string context = {};
    /// True to accept `insecure-skip-tls-verify: true`, which allows anyone on the network to steal the token. If
    /// false, such a document is rejected.
    bool allow_insecure = false;
    /// True to accept `exec`, which allows the author of the document to run a program with this process's permissions.
    /// If false, such a document is rejected.
    bool allow_exec = false;
    /// Name of the document in error messages, for example its file name.
    std::string source = {};
  };

  struct InClusterParams {
    /// The value of KUBERNETES_SERVICE_HOST: an address (IPv6 without brackets) or a name.
    std::string host = {};
    /// The value of KUBERNETES_SERVICE_PORT.
    std::string port = {};
    /// Directory of the files `token`, `ca.crt` and `namespace`.
    std::string directory = "/var/run/secrets/kubernetes.io/serviceaccount";
  };

  /// "https://host:port", optionally with a path prefix, without a trailing "/".
  std::string server = {};
  /// The only certificate authorities to trust; PEM, one or more. Empty if the document names none.
  std::string ca_pem = {};
  /// The name that the server's certificate must contain, and that is sent as SNI, if this name differs from the host
  /// in `server`.
  std::string tls_server_name = {};
  /// True only if ParseOptions::allow_insecure was also set.
  bool insecure_skip_tls_verify = false;
  /// Bearer token, used if `token_file` is empty or has not been read successfully yet.
  Secret token = {};
  /// Absolute path, or relative to the current directory. The transport reads the file again periodically.
  std::string token_file = {};
  /// The program that the transport runs when it needs a token: before the first request, when the token has expired,
  /// and after a 401. Set only if there is no static credential.
  std::optional<ExecPlugin> exec = {};
  /// Client certificate and key: both are PEM, or both are empty.
  std::string client_certificate_pem = {};
  Secret client_key_pem = {};
  /// The proxy, such as "http://proxy:3128"; empty for a direct connection.
  std::string proxy_url = {};
  /// Namespace of the context (or of the service account); "default" if the document names none.
  std::string ns = "default";
  /// Warnings for an administrator, for example that other users can read the file. Never errors.
  std::vector<std::string> warnings = {};

  friend bool operator==(const KubeConfig&, const KubeConfig&) = default;

  /// Reads a kubeconfig document (YAML or JSON) and the certificate files that it names, for one context.
  ///
  /// Only the chosen context, its cluster and its user are validated. Duplicate keys and names are errors. A document
  /// must not exceed 1 MiB, 32 levels of nesting, or 100,000 nodes (each use of an alias counts). Unknown fields are
  /// ignored, as in kubectl. Errors, each "kubeconfig SOURCE: path.in.document: why":
  ///  - InvalidArgument: malformed, incomplete or contradictory; insecure-skip-tls-verify without allow_insecure;
  ///  - NotFound: the named context, cluster or user is not in the document, or a named file does not exist;
  ///  - PermissionDenied: the process is not allowed to read a named file;
  ///  - Unimplemented: auth-provider; exec without allow_exec, or with features that are not supported here
  ///    (interaction with a terminal, information about the cluster); username and password; impersonation. Reading
  ///    never runs a plugin. An exec plugin alongside a static credential is ignored, as in client-go.
  [[nodiscard]] static absl::StatusOr<KubeConfig> Parse(std::string_view yaml, const ParseOptions& options);

  /// Reads and parses a file. `options.base_dir` defaults to the file's directory and `options.source` to its name.
  /// Errors: same as Parse, and the errors of reading `path`.
  [[nodiscard]] static absl::StatusOr<KubeConfig> LoadFile(const std::string& path, ParseOptions options);
  [[nodiscard]] static absl::StatusOr<KubeConfig> LoadFile(const std::string& path);

  /// Reads the service account of the pod in which this process runs. Unlike client-go, this function rejects a missing
  /// or empty `ca.crt` instead of trusting the system's authorities. Errors: FailedPrecondition if host or port is
  /// empty (not in a cluster); InvalidArgument for a malformed host, port or file; NotFound and PermissionDenied for
  /// the files `token` and `ca.crt`.
  [[nodiscard]] static absl::StatusOr<KubeConfig> InCluster(const InClusterParams& params);
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_KUBE_CONFIG_H_
