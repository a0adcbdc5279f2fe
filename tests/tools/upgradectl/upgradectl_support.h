// Code that upgradectl's tests share: runs of the program, scratch files, expected texts, and a server with the objects
// of a dump.
#ifndef DRIVERUPGRADE_TESTS_TOOLS_UPGRADECTL_UPGRADECTL_SUPPORT_H_
#define DRIVERUPGRADE_TESTS_TOOLS_UPGRADECTL_UPGRADECTL_SUPPORT_H_

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "support/catch.h"
#include "upgradectl/json_view.h"
#include "upgradectl/upgradectl.h"

namespace upgradectl {

namespace fs = std::filesystem;

inline const fs::path kTestData = UPGRADECTL_TESTDATA;

struct Answer {
  int exit_code = -1;
  std::string out = {};
  std::string err = {};
};

/// The environment in which the program runs, except for its command line.
struct Surroundings {
  std::string standard_input = {};
  Screen screen = {};
  bool interactive = false;
  /// Server that handles every connection. Null: the program makes its own connections.
  std::shared_ptr<driverupgrade::HttpTransport> server = nullptr;
};

Answer RunIn(const std::vector<std::string>& arguments, const Surroundings& surroundings);
Answer RunWith(const std::vector<std::string>& arguments, const std::string& standard_input = {});

std::string ContentOf(const fs::path& path);

/// A file that exists until the end of the test case.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view content);
  ~ScratchFile() { fs::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

/// A dump with nodes n0000, n0001, and so on, each with a driver pod and a web pod, and the items in `more`.
std::string Fleet(int nodes, const std::string& more = {});

/// Returns an item for `more`: a ResourceSlice of the node with this number of devices.
std::string Slice(int node, int devices);
/// Returns an item for `more`: a pod that claims this number of its node's devices. `owner` contains the apiVersion,
/// kind and name of the pod's controller.
std::string PodWithClaim(const std::string& name, int node, int devices, const std::string& owner,
                         const std::string& labels = "{}");
inline constexpr char kTrainSet[] = R"("apiVersion":"apps/v1","kind":"ReplicaSet","name":"train")";
/// Returns a Fleet with this number of devices on each node. On each node, a pod claims `claimed` of the devices.
std::string FleetWithDevices(int nodes, int devices, int claimed);

/// Compares `text` with the file testdata/`name`. If DRIVERUPGRADE_REWRITE is set, writes `text` to this file instead.
void CheckGolden(const std::string& name, const std::string& text);

/// Returns a dump of two canaries with the new driver, and two other nodes with the old driver. The ledger contains
/// `record` as the rollout record, and the DaemonSet has the annotation `approvals`.
std::string DumpOfRollout(const std::string& record, const std::string& approvals = {});

/// An API server with the objects of a dump. Lists support namespaces and the field selectors `spec.nodeName` and
/// `reason`. Patches are recorded, and the response to a patch is its own body. A watch sends its scripted lines, and
/// then waits until it is stopped.
class DumpServer final : public driverupgrade::HttpTransport {
 public:
  explicit DumpServer(std::string_view dump);

  static constexpr int kForEver = -1;

  /// From now on, requests for paths with this prefix return 403.
  void Forbid(std::string path) { forbidden_.push_back(std::move(path)); }
  /// From now on, access reviews that contain this text are denied. All other access reviews are allowed.
  void Deny(std::string text) { denied_.push_back(std::move(text)); }
  /// From now on, requests for this path return this response, regardless of their verb.
  void AnswerAt(std::string path, driverupgrade::HttpResponse answer) { answers_[std::move(path)] = std::move(answer); }
  /// Sets the body of responses to patches. If `body` is empty, each response contains the body of the patch itself.
  void AnswerPatches(std::string body) { patch_answer_ = std::move(body); }
  /// Adds a line to the watch of this path.
  void AddWatchLine(const std::string& path, std::string line);
  /// Makes the next `times` requests for paths with this prefix fail. By default, all such requests fail until Restore.
  void CutOff(std::string path, int times = kForEver);
  void Restore();
  std::vector<driverupgrade::HttpRequest> writes() const;
  std::vector<std::string> paths() const;
  /// Returns the headers of the last request.
  std::vector<std::pair<std::string, std::string>> headers() const;

  absl::StatusOr<driverupgrade::HttpResponse> Send(const driverupgrade::CallContext& context,
                                                   const driverupgrade::HttpRequest& request) override;
  absl::StatusOr<driverupgrade::HttpResponse> Stream(const driverupgrade::CallContext& context,
                                                     const driverupgrade::HttpRequest& request,
                                                     driverupgrade::LineSink& sink) override;

 private:
  std::string ListOf(const std::string& path, const std::map<std::string, std::string>& query);

  json::Document dump_;
  std::vector<std::string> forbidden_;
  std::vector<std::string> denied_;
  std::string patch_answer_;
  std::map<std::string, driverupgrade::HttpResponse> answers_;
  std::map<std::string, std::vector<std::string>> lines_;
  /// Returns true if a request for the path must fail, and decrements the number of failures that are left.
  bool IsCutOff(const std::string& path);

  std::map<std::string, int> cut_off_;
  mutable std::mutex mutex_;
  std::condition_variable_any told_;
  std::vector<driverupgrade::HttpRequest> writes_;
  std::vector<std::string> paths_;
  std::vector<std::pair<std::string, std::string>> headers_;
};

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TESTS_TOOLS_UPGRADECTL_UPGRADECTL_SUPPORT_H_
