#include "kubectl.h"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "json.h"
#include "support.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::minutes kLimit{2};

std::string Joined(const Kubectl::Arguments& arguments) {
  std::string text = "kubectl";
  for (const std::string& argument : arguments) text += " " + argument;
  return text;
}

}  // namespace

Kubectl::Kubectl(std::filesystem::path program, std::filesystem::path kubeconfig, std::filesystem::path folder)
    : program_(std::move(program)), kubeconfig_(std::move(kubeconfig)), folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
}

std::vector<std::string> Kubectl::Command(const Arguments& arguments) const {
  std::vector<std::string> command = {program_.string(), "kubectl", "--kubeconfig=" + kubeconfig_.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

ProcessOptions Kubectl::Options(const std::filesystem::path& out, const std::filesystem::path& err) const {
  ProcessOptions options;
  options.out = out;
  options.err = err;
  options.environment = {{"HOME", folder_.string()}};  // kubectl must not use the user's caches
  return options;
}

KubectlResult Kubectl::Run(const Arguments& arguments) const {
  const std::filesystem::path out = folder_ / "out";
  const std::filesystem::path err = folder_ / "err";
  Process process(Command(arguments), Options(out, err));
  const std::optional<int> exit_code = process.Wait(kLimit);
  process.Kill();
  return {exit_code.value_or(137), ReadFile(out), ReadFile(err)};
}

std::string Kubectl::Must(const Arguments& arguments) const {
  KubectlResult result = Run(arguments);
  if (result.exit_code != 0) {
    throw std::runtime_error(Joined(arguments) + ": exit code " + std::to_string(result.exit_code) + ": " + result.err);
  }
  return std::move(result.out);
}

rapidjson::Document Kubectl::Get(Arguments arguments) const {
  arguments.insert(arguments.begin(), "get");
  arguments.insert(arguments.end(), {"-o", "json"});
  return ParseJson(Must(arguments), Joined(arguments));
}

void Kubectl::Create(std::string_view manifest) const {
  const std::filesystem::path file = folder_ / "manifest.yaml";
  WriteFile(file, manifest);
  // The API server validates the objects. If kubectl validated them too, it would fetch the whole schema first.
  Must({"create", "--validate=false", "-f", file.string()});
}

void Kubectl::WriteCommand(const std::filesystem::path& file) const {
  std::string script = "#!/bin/sh\nHOME='" + folder_.string() + "' exec";
  for (const std::string& word : Command({})) script += " '" + word + "'";
  WriteFile(file, script + " \"$@\"\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

std::unique_ptr<Process> Kubectl::Start(const Arguments& arguments, const std::filesystem::path& out) const {
  return std::make_unique<Process>(Command(arguments), Options(out, out.string() + ".err"));
}

}  // namespace driverupgrade::e2e
