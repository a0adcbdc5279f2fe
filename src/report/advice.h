// What helps with a gate, by its cause: for `upgradectl explain`, and for the document of a rollout.
#ifndef DRIVERUPGRADE_SRC_REPORT_ADVICE_H_
#define DRIVERUPGRADE_SRC_REPORT_ADVICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"

namespace driverupgrade::internal {

struct Advice {
  // One or two sentences.
  std::string text = {};
  // For a shell, in the order in which they are of use.
  std::vector<std::string> commands = {};
  // The page with more: `docs/operations.md#safe-load`.
  std::string page = {};
};

// Makes the commands that depend on what the reader of the advice knows of the cluster. An empty text: it does not know enough, and
// the command is left out.
class CommandMaker {
 public:
  virtual ~CommandMaker() = default;
  // `upgradectl VERB [ARGUMENT]`, with the options that name the driver.
  virtual std::string Upgradectl(std::string_view verb, std::string_view argument) const = 0;
  // Sets a field of the policy to a JSON value.
  virtual std::string SetPolicy(std::string_view field, std::string_view value) const;
  // `kubectl VERB` of the driver pod on the node that waits.
  virtual std::string DriverPod(std::string_view verb) const;
  virtual std::string DriverDaemonSets() const;
  virtual std::string Ledger() const;
};

// For the operator itself, which knows no more than the driver's name.
class OperatorCommands final : public CommandMaker {
 public:
  explicit OperatorCommands(const DriverIdentity& identity) : identity_(identity) {}
  std::string Upgradectl(std::string_view verb, std::string_view argument) const override;

 private:
  const DriverIdentity& identity_;
};

// Whether the rollout or time alone opens the gate, so that no advice is needed.
bool OpensByItself(const Gate& gate);

// `node`: that waits; empty for a gate of the whole rollout.
Advice AdviceFor(const DriverIdentity& identity, const Gate& gate, const std::string& node,
                 const CommandMaker& commands);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_REPORT_ADVICE_H_
