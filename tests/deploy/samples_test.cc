// Tests the sample custom resources with the changes that NVIDIA's documentation describes.
#include <rapidjson/pointer.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "gpu/driver_sets.h"
#include "ofed/driver_sets.h"
#include "support/catch.h"
#include "support/json.h"
#include "yaml-cpp/yaml.h"

namespace driverupgrade::tests {
namespace {

const std::filesystem::path kOperators = std::filesystem::path(DRIVERUPGRADE_SOURCE_DIR) / "examples/operators";
const examples::NodeSystems kUbuntu = {.known = {{"ubuntu", "22.04", "amd64"}}};

std::string Json(const YAML::Node& node) {
  std::string text;
  if (node.IsScalar()) {
    const bool is_text = node.Tag() == "!" || !std::regex_match(node.Scalar(), std::regex("true|false|[0-9]+"));
    return is_text ? "\"" + node.Scalar() + "\"" : node.Scalar();
  }
  for (const auto& item : node) {
    text += text.empty() ? "" : ",";
    text += node.IsMap() ? "\"" + item.first.Scalar() + "\":" + Json(item.second) : Json(item);
  }
  return node.IsMap() ? "{" + text + "}" : "[" + text + "]";
}

rapidjson::Document Sample(const std::string& path) {
  return *examples::ParseJson(Json(YAML::LoadFile((kOperators / path).string())));
}

TEST_CASE("W29: the documented patch of driver.version works on the sample, and yields an NVIDIA image name") {
  rapidjson::Document sample = Sample("gpu/cluster-policy.yaml");
  CHECK(examples::Text(sample, {"metadata", "name"}) == "cluster-policy");
  // A patch such as [{"op": "replace", "path": "/spec/driver/version", "value":"510.85.02"}] fails if the field is
  // missing.
  rapidjson::Value* version = rapidjson::Pointer("/spec/driver/version").Get(sample);
  REQUIRE(version != nullptr);
  version->SetString("510.85.02");
  const auto policy = gpu_operator::ReadClusterPolicy({.name = "cluster-policy", .json = examples::ToText(sample)});
  REQUIRE(policy.ok());
  const auto wishes = gpu_operator::DriverSets(*policy, "gpu-operator");
  REQUIRE(wishes.size() == 1);
  const auto sets = gpu_operator::OnSystems(wishes.front(), kUbuntu);
  REQUIRE(sets.size() == 1);
  CHECK(sets.front().image.reference == "nvcr.io/nvidia/driver:510.85.02-ubuntu22.04");
  REQUIRE(sets.front().init);
  CHECK(sets.front().init->image.reference == "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.8.0");
}

TEST_CASE("W29: the sample of the OFED driver names an NVIDIA image, and its pods have the documented label") {
  const auto policy = ofed_operator::ReadNicClusterPolicy(
      {.name = "nic-cluster-policy", .json = examples::ToText(Sample("ofed/nic-cluster-policy.yaml"))});
  REQUIRE(policy.ok());
  const auto wishes = ofed_operator::DriverSets(*policy, {}, "nvidia-network-operator", "");
  REQUIRE(wishes.size() == 1);
  const auto sets = ofed_operator::OnSystems(wishes.front(), kUbuntu);
  REQUIRE(sets.size() == 1);
  CHECK(sets.front().image.reference == "nvcr.io/nvidia/mellanox/doca-driver:24.01-0.3.3.1.3-ubuntu22.04-amd64");
  CHECK(sets.front().labels.at("app") == "mofed-ubuntu22.04");
}

}  // namespace
}  // namespace driverupgrade::tests
