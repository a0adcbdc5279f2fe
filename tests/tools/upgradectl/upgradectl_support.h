// What the tests of upgradectl share: the program on a command line, files, expected texts, and a server that has a dump.
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

/// How the program is run beside its command line.
struct Surroundings {
  std::string standard_input = {};
  Screen screen = {};
  bool interactive = false;
  /// What every connection goes to.
  std::shared_ptr<driverupgrade::HttpTransport> server = nullptr;
};

Answer RunIn(const std::vector<std::string>& arguments, const Surroundings& surroundings);
Answer RunWith(const std::vector<std::string>& arguments, const std::string& standard_input = {});

std::string ContentOf(const fs::path& path);

/// A file that lives as long as the test case.
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

/// A dump with nodes n0000, n0001 and so on, each with a driver pod and a web pod, and the items of `more`.
std::string Fleet(int nodes, const std::string& more = {});

/// With DRIVERUPGRADE_REWRITE=1 in the environment it writes the expected text instead.
void CheckGolden(const std::string& name, const std::string& text);

/// An API server with the objects of a dump. Lists know namespaces, `spec.nodeName` and `reason`; a patch is recorded and
/// answered with its own body; a watch gives what it was told to, and then nothing until it is stopped.
/// A dump of two canaries with the new driver and two others with the old one, whose rollout the ledger knows by this
/// record, and whose DaemonSet has this text as approvals.
std::string DumpOfRollout(const std::string& record, const std::string& approvals = {});

class DumpServer final : public driverupgrade::HttpTransport {
 public:
  explicit DumpServer(std::string_view dump);

  static constexpr int kForEver = -1;

  /// From now on paths that begin so are answered with 403.
  void Forbid(std::string path) { forbidden_.push_back(std::move(path)); }
  /// A review of rights whose text has this is answered with no, every other with yes.
  void Deny(std::string text) { denied_.push_back(std::move(text)); }
  /// From now on requests of this path, with any verb, are answered with this.
  void AnswerAt(std::string path, driverupgrade::HttpResponse answer) { answers_[std::move(path)] = std::move(answer); }
  /// What patches are answered with; empty: their own body.
  void AnswerPatches(std::string body) { patch_answer_ = std::move(body); }
  /// A line of the watch of this path.
  void AddWatchLine(const std::string& path, std::string line);
  /// From now on a path that begins so is not reached; so many times, or until it is told otherwise.
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
  /// Whether a path is cut off; counts.
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
