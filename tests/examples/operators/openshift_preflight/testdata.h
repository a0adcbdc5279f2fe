// Outputs from the documentation of NVIDIA's GPU operator on OpenShift.
#ifndef DRIVERUPGRADE_TESTS_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_TESTDATA_H_
#define DRIVERUPGRADE_TESTS_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_TESTDATA_H_

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace openshift_preflight {

inline std::string TestData(const std::string& name) {
  std::ifstream file(std::string(OPENSHIFT_PREFLIGHT_TESTDATA) + "/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("no " + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_TESTS_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_TESTDATA_H_
