// A file that a test writes and that is removed at the end of the test.
#ifndef DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TEMPORARY_FILE_H_
#define DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TEMPORARY_FILE_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace driverupgrade::testing_support {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    std::string path = (std::filesystem::temp_directory_path() / "driverupgrade-XXXXXX").string();
    const int fd = mkstemp(path.data());
    if (fd < 0) std::abort();
    close(fd);
    path_ = path;
    Write(content);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  void Write(const std::string& content) const { std::ofstream(path_, std::ios::binary) << content; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace driverupgrade::testing_support

#endif  // DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TEMPORARY_FILE_H_
