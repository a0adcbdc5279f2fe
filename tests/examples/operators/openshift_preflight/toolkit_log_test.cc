#include "openshift_preflight/toolkit_log.h"

#include "examples/operators/openshift_preflight/testdata.h"
#include "support/catch.h"

namespace openshift_preflight {
namespace {

TEST_CASE("the logs in the documentation show a broken toolkit") {
  CHECK(ReadToolkitLog(TestData("toolkit.log")) == ToolkitMessages{.broken = true,
                                                                   .node_kernel = "4.18.0-305.25.1.el8_4.x86_64",
                                                                   .kernel_package = "4.18.0-305.28.1.el8_4.x86_64",
                                                                   .fallback = true});
  CHECK(ReadToolkitLog(TestData("driver.log")) == ToolkitMessages{.broken = true, .fallback = true});
}

TEST_CASE("a log without the message shows a healthy toolkit, whatever else it contains") {
  for (const char* log : {"", "\n\n", "Running dtk-build-driver\n",
                          "- Node kernel:    4.18.0\n- Kernel package: 4.18.1\n", "driver toolkit is not broken"}) {
    CHECK(ReadToolkitLog(log) == ToolkitMessages{});
  }
}

TEST_CASE("the last message in the log counts, and a log may be truncated anywhere") {
  const std::string first = TestData("toolkit.log");
  const std::string again =
      "WARNING: broken Driver Toolkit image detected:\r\n- Node kernel:    5.14.0-1\r\n- Kernel package: 5.14.0-2\r\n";
  const ToolkitMessages said = ReadToolkitLog(first + "\n" + again);
  CHECK(said.node_kernel == "5.14.0-1");
  CHECK(said.kernel_package == "5.14.0-2");
  CHECK(ReadToolkitLog(first + "\nWARNING: broken Driver Toolkit").kernel_package.empty());
  for (std::size_t length = 0; length <= first.size(); ++length) {
    const ToolkitMessages part = ReadToolkitLog(std::string_view(first).substr(0, length));
    CHECK(std::string_view("4.18.0-305.28.1.el8_4.x86_64").starts_with(part.kernel_package));
  }
}

}  // namespace
}  // namespace openshift_preflight
