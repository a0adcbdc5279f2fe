// Returns advice on what to do about a gate, for `upgradectl explain` and for the rollout document.
#ifndef DRIVERUPGRADE_SRC_REPORT_ADVICE_H_
#define DRIVERUPGRADE_SRC_REPORT_ADVICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"

namespace driverupgrade::internal {

struct Advice {
  // Advice in one or two sentences.
  std::string text = {};
  // Shell commands, in the order in which to run them.
  std::vector<std::string> commands = {};
  // Page with more information, such as `docs/operations.md#safe-load`.
  std::string page = {};
};

// Builds the commands that need data about the cluster. If the data is not available, a function returns an empty
// string, and the advice omits the command.
class CommandMaker {
 public:
  virtual ~CommandMaker() = default;
  // Returns `upgradectl VERB [ARGUMENT]` with the options that select the driver.
  virtual std::string Upgradectl(std::string_view verb, std::string_view argument) const = 0;
  // Returns a command that sets a field of the policy to a JSON value.
  virtual std::string SetPolicy(std::string_view field, std::string_view value) const;
  // Returns `kubectl VERB` for the driver pod on the waiting node.
  virtual std::string DriverPod(std::string_view verb) const;
  virtual std::string DriverDaemonSets() const;
  virtual std::string Ledger() const;
};

// Builds the commands in the operator's rollout document, for which only the identity of the driver is available.
class OperatorCommands final : public CommandMaker {
 public:
  explicit OperatorCommands(const DriverIdentity& identity) : identity_(identity) {}
  std::string Upgradectl(std::string_view verb, std::string_view argument) const override;

 private:
  const DriverIdentity& identity_;
};

// Returns true if the gate needs no advice, because the rollout or time alone will open it.
bool OpensByItself(const Gate& gate);

// `node` is the waiting node, or empty for a gate of the whole rollout.
Advice AdviceFor(const DriverIdentity& identity, const Gate& gate, const std::string& node,
                 const CommandMaker& commands);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_REPORT_ADVICE_H_
