// Runs kubectl with the permissions of one user.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_KUBECTL_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_KUBECTL_H_

#include <rapidjson/document.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "process.h"

namespace driverupgrade::e2e {

struct KubectlResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

class Kubectl {
 public:
  using Arguments = std::vector<std::string>;

  // `program` is the multi-call binary. kubectl stores its own files below `folder`.
  Kubectl(std::filesystem::path program, std::filesystem::path kubeconfig, std::filesystem::path folder);

  // Runs kubectl until it exits. A command that does not exit within two minutes is killed, and its exit code is 137.
  KubectlResult Run(const Arguments& arguments) const;

  // Same as Run for a command that must succeed. Returns its standard output, and throws std::runtime_error if the
  // command fails.
  std::string Must(const Arguments& arguments) const;

  // Returns the parsed output of `kubectl get ... -o json`.
  rapidjson::Document Get(Arguments arguments) const;

  // Creates every object in `manifest`, which is YAML.
  void Create(std::string_view manifest) const;

  // Writes an executable file that runs kubectl with this user's permissions, for scripts that call kubectl by name.
  void WriteCommand(const std::filesystem::path& file) const;

  // Starts kubectl and writes its output to `out`.
  std::unique_ptr<Process> Start(const Arguments& arguments, const std::filesystem::path& out) const;

 private:
  std::vector<std::string> Command(const Arguments& arguments) const;
  ProcessOptions Options(const std::filesystem::path& out, const std::filesystem::path& err) const;

  std::filesystem::path program_;
  std::filesystem::path kubeconfig_;
  std::filesystem::path folder_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_KUBECTL_H_
