#include "ledger/admission_ledger.h"

#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "model/label_syntax.h"

namespace driverupgrade {
namespace {

// Kubernetes limits the length of a key in a ConfigMap.
constexpr std::size_t kKeyLengthMax = 253;

// Returns the key of the entry. A domain contains no `_`, so no two identities share a key.
std::string KeyOf(const DriverIdentity& identity, const std::string& owner) {
  std::string key = fmt::format("{}_{}", identity.domain(), identity.driver());
  return owner.empty() ? key : fmt::format("{}_{}", key, owner);
}

}  // namespace

absl::StatusOr<AdmissionLedger> AdmissionLedger::Create(const DriverIdentity& identity,
                                                        AdmissionLedgerOptions options) {
  if (options.ns.empty() || options.name.empty()) {
    return absl::InvalidArgumentError("admission ledger options: namespace and name of the ConfigMap are required");
  }
  if (options.grants_max == 0)
    return absl::InvalidArgumentError("admission ledger options: grants_max must be positive");
  if (!options.owner.empty() && !internal::IsDnsSubdomain(options.owner)) {
    return absl::InvalidArgumentError(
        fmt::format("admission ledger options: owner `{}` is not a DNS subdomain", options.owner));
  }
  std::string key = KeyOf(identity, options.owner);
  if (key.size() > kKeyLengthMax) {
    return absl::InvalidArgumentError(fmt::format("admission ledger: `{}` is too long for a key of a ConfigMap", key));
  }
  return AdmissionLedger(std::move(key), std::move(options));
}

AdmissionLedger::AdmissionLedger(std::string key, AdmissionLedgerOptions options)
    : key_(std::move(key)),
      // No domain starts with `_`, so this key cannot be a key of grants.
      record_key_(fmt::format("_rollout_{}", key_)),
      options_(std::move(options)) {}

void AdmissionLedger::Read() {
  if (!known_) asked_ = Asked{.purpose = Purpose::kRead, .request = Get()};
}

absl::Status AdmissionLedger::TakeRead(const absl::StatusOr<ConfigMap>& found) {
  if (absl::IsNotFound(found.status())) {
    // The grants are kept, and the next Settle stores them again. The record, however, is dropped, because another
    // replica may have halted the rollout in the meantime.
    stored_.reset();
    record_.reset();
    known_ = true;
    return absl::OkStatus();
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(found.status());
  stored_ = *found;
  const auto entry = stored_->data.find(key_);
  ParsedGrants parsed = ParseGrants(entry == stored_->data.end() ? "" : entry->second);
  grants_ = std::move(parsed.grants);
  const auto record = stored_->data.find(record_key_);
  record_ = record == stored_->data.end() ? std::nullopt : std::optional(record->second);
  error_.clear();
  if (!parsed.error.empty()) {
    error_ = fmt::format("config map {}/{}, {}: {}", options_.ns, options_.name, key_, parsed.error);
  }
  known_ = true;
  return absl::OkStatus();
}

void AdmissionLedger::Forget() {
  if (asked_) asked_->ignored = true;
  known_ = false;
  stored_.reset();
  grants_.clear();
  record_.reset();
}

absl::StatusOr<GrantDecision> AdmissionLedger::Settle(const std::vector<NodeReading>& nodes,
                                                      const std::vector<std::string>& wanted,
                                                      const std::optional<std::string>& record) {
  if (!known_) return absl::FailedPreconditionError("admission ledger: it must be read before the nodes are listed");
  GrantDecision decision = DecideGrants(grants_, nodes, wanted, options_.grants_max);
  std::map<std::string, std::string> entries;
  if (std::string text = FormatGrants(decision.grants); !Has(key_, text)) entries.emplace(key_, std::move(text));
  if (record && !Has(record_key_, *record)) entries.emplace(record_key_, *record);
  if (entries.empty()) {
    grants_ = decision.grants;
    if (record) record_ = record;
  } else {
    asked_ = Asked{.purpose = Purpose::kStore,
                   .request = StoreRequest(entries),
                   .entries = std::move(entries),
                   .grants = decision.grants,
                   .record = record};
  }
  return decision;
}

bool AdmissionLedger::Has(const std::string& key, const std::string& text) const {
  if (!stored_) return text.empty();
  const auto entry = stored_->data.find(key);
  return entry == stored_->data.end() ? text.empty() : entry->second == text;
}

internal::LedgerRequest AdmissionLedger::StoreRequest(std::map<std::string, std::string> entries) const {
  if (!stored_) return ConfigMap{.ns = options_.ns, .name = options_.name, .data = std::move(entries)};
  return PatchConfigMapParams{.ns = options_.ns,
                              .name = options_.name,
                              .uid = stored_->uid,
                              .resource_version = stored_->resource_version,
                              .data = {entries.begin(), entries.end()}};
}

void AdmissionLedger::Saw(const ConfigMap& config_map) {
  if (!known_) return;
  const auto is_unchanged = [&](const std::string& key) {
    const auto entry = config_map.data.find(key);
    return Has(key, entry == config_map.data.end() ? std::string() : entry->second);
  };
  if (!is_unchanged(key_) || !is_unchanged(record_key_)) return;
  stored_ = config_map;
  if (asked_ && asked_->purpose == Purpose::kStore) asked_->request = StoreRequest(asked_->entries);
}

absl::Status AdmissionLedger::TakeStored(const Asked& asked, const absl::StatusOr<ConfigMap>& written) {
  if (!written.ok()) {
    // After an error, the ConfigMap must be read again before the next change, unless the server has clearly refused
    // the request. NotFound and AlreadyExists are refusals, too, but show that the known content is outdated.
    known_ = WasNotApplied(written.status()) && !absl::IsNotFound(written.status()) &&
             !absl::IsAlreadyExists(written.status());
    return written.status();
  }
  stored_ = *written;
  grants_ = asked.grants;
  if (asked.record) record_ = asked.record;
  error_.clear();
  return absl::OkStatus();
}

absl::Status AdmissionLedger::Confirm() {
  if (!known_) return absl::FailedPreconditionError("admission ledger: it has not been read");
  asked_ = Asked{.purpose = Purpose::kConfirm, .request = Get()};
  return absl::OkStatus();
}

absl::Status AdmissionLedger::TakeConfirmed(const absl::StatusOr<ConfigMap>& found) {
  const bool is_absent = absl::IsNotFound(found.status());
  if (!is_absent) DRIVERUPGRADE_RETURN_IF_ERROR(found.status());
  const bool same = is_absent
                        ? !stored_
                        : stored_ && stored_->uid == found->uid && stored_->resource_version == found->resource_version;
  if (same) return absl::OkStatus();
  known_ = false;
  return absl::AbortedError(
      fmt::format("config map {}/{} has been changed since it was read", options_.ns, options_.name));
}

absl::Status AdmissionLedger::Take(const absl::StatusOr<ConfigMap>& answer) {
  if (!asked_) return absl::FailedPreconditionError("admission ledger: a response without a request");
  const Asked asked = *std::exchange(asked_, std::nullopt);
  if (asked.ignored) return absl::AbortedError("the cluster was restored from a backup in the meantime");
  switch (asked.purpose) {
    case Purpose::kRead: return TakeRead(answer);
    case Purpose::kStore: return TakeStored(asked, answer);
    case Purpose::kConfirm: return TakeConfirmed(answer);
  }
  return absl::OkStatus();
}

std::optional<std::string> AdmissionLedger::Granted(const std::string& node_uid) const {
  const auto grant = grants_.find(node_uid);
  if (grant == grants_.end() || grant->second.empty()) return std::nullopt;
  return grant->second;
}

}  // namespace driverupgrade
