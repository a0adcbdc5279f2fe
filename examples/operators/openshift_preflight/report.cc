#include "openshift_preflight/report.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <string_view>

#include "fmt/format.h"

namespace openshift_preflight {
namespace {

const char* Name(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "error";
}

// Replaces control characters: text from the cluster must neither start a new line nor move the terminal's cursor.
std::string OneLine(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

std::string VersionOf(const Facts& facts) {
  return facts.version->installed.empty() ? facts.version->desired : facts.version->installed;
}

std::ptrdiff_t Count(const std::vector<Finding>& findings, Severity severity) {
  return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.severity == severity; });
}

}  // namespace

std::string FormatText(const Facts& facts, const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{} {}: {}\n", Name(finding.severity), finding.id, OneLine(finding.what));
    if (!finding.why.empty()) text += fmt::format("  why: {}\n", OneLine(finding.why));
    if (!finding.remedy.empty()) text += fmt::format("  do:  {}\n", OneLine(finding.remedy));
  }
  const std::string cluster = facts.version ? fmt::format("OpenShift {}", OneLine(VersionOf(facts))) : "not OpenShift";
  return text + fmt::format("{}: {} errors, {} warnings, {} notes\n", cluster, Count(findings, Severity::kError),
                            Count(findings, Severity::kWarning), Count(findings, Severity::kInfo));
}

std::string FormatJson(const Facts& facts, const std::vector<Finding>& findings) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const auto member = [&](const char* name, const std::string& value) {
    writer.Key(name);
    writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  writer.StartObject();
  if (facts.version) {
    member("openshift", VersionOf(facts));
  } else {
    writer.Key("openshift");
    writer.Null();
  }
  writer.Key("findings");
  writer.StartArray();
  for (const Finding& finding : findings) {
    writer.StartObject();
    member("severity", Name(finding.severity));
    member("id", finding.id);
    member("what", finding.what);
    member("why", finding.why);
    member("do", finding.remedy);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace openshift_preflight
