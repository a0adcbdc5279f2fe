#include "openshift_preflight/toolkit_log.h"

#include <algorithm>
#include <cctype>

namespace openshift_preflight {
namespace {

// Returns the text after `label` up to the next space or line end; empty if `label` is not in the line.
std::string ValueOf(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + label.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return std::string(line.substr(0, line.find_first_of(" \t\r")));
}

// Returns the text in lower case, because the logs of the two containers capitalize the toolkit's name differently.
std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

void ReadLine(std::string_view line, ToolkitMessages& said) {
  const std::string lower = Lower(line);
  if (lower.find("warning: broken driver toolkit") != std::string::npos) {
    said.broken = true;
    // The lines after this message name the kernels, which replace the kernels of an earlier report.
    said.node_kernel.clear();
    said.kernel_package.clear();
  }
  if (lower.find("entitlement-based fallback") != std::string::npos ||
      lower.find("fallback on entitled-build") != std::string::npos) {
    said.fallback = true;
  }
  if (!said.broken) return;
  if (std::string kernel = ValueOf(line, "- Node kernel:"); !kernel.empty()) said.node_kernel = std::move(kernel);
  if (std::string kernel = ValueOf(line, "- Kernel package:"); !kernel.empty()) said.kernel_package = std::move(kernel);
}

}  // namespace

ToolkitMessages ReadToolkitLog(std::string_view log) {
  ToolkitMessages said;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    ReadLine(log.substr(0, end), said);
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return said;
}

}  // namespace openshift_preflight
