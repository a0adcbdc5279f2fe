#include "kubernetes/read_file.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "fmt/format.h"

namespace driverupgrade {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

absl::Status StatusOfErrno(int error) {
  const std::string reason = std::generic_category().message(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR: return absl::NotFoundError(reason);
    case EACCES:
    case EPERM: return absl::PermissionDeniedError(reason);
    case EISDIR: return absl::InvalidArgumentError(reason);
    default: return absl::UnavailableError(reason);
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t size_max) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) return StatusOfErrno(errno);
  std::string content;
  char block[16384];
  while (true) {
    errno = 0;
    const std::size_t count = std::fread(block, 1, sizeof(block), file.get());
    content.append(block, count);
    if (content.size() > size_max) {
      return absl::InvalidArgumentError(fmt::format("longer than {} bytes", size_max));
    }
    if (count == sizeof(block)) continue;
    if (std::ferror(file.get()) != 0) return StatusOfErrno(errno);
    return content;
  }
}

}  // namespace driverupgrade
