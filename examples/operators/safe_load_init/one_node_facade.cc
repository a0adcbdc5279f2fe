#include "safe_load_init/one_node_facade.h"

#include <utility>
#include <vector>

#include "driverupgrade/wire/kubernetes_json.h"

namespace safe_load_init {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::Node;
using driverupgrade::ObjectKind;
using driverupgrade::WatchParams;
using driverupgrade::WatchSink;

// Passes nodes to `sink`. An object that is not a node ends the watch and sets `status`.
class ParsingSink final : public WatchSink<ApiObject> {
 public:
  explicit ParsingSink(WatchSink<Node>& sink) : sink_(sink) {}

  bool OnList(std::vector<ApiObject> objects, std::string_view version) override {
    std::vector<Node> nodes;
    for (const ApiObject& object : objects) {
      if (!Parse(object, [&](Node node) {
            nodes.push_back(std::move(node));
            return true;
          })) {
        return false;
      }
    }
    return sink_.OnList(std::move(nodes), version);
  }
  bool OnChange(ApiObject object, std::string_view version) override {
    return Parse(object, [&](Node node) { return sink_.OnChange(std::move(node), version); });
  }
  bool OnDelete(ApiObject object, std::string_view version) override {
    return Parse(object, [&](Node node) { return sink_.OnDelete(std::move(node), version); });
  }
  bool OnBookmark(std::string_view version) override { return sink_.OnBookmark(version); }

  const absl::Status& status() const { return status_; }

 private:
  template <typename F>
  bool Parse(const ApiObject& object, const F& then) {
    absl::StatusOr<Node> node = driverupgrade::ParseObject<Node>(object.json);
    if (node.ok()) return then(*std::move(node));
    status_ = absl::UnavailableError(node.status().message());
    return false;
  }

  WatchSink<Node>& sink_;
  absl::Status status_;
};

}  // namespace

OneNodeFacade::OneNodeFacade(std::shared_ptr<driverupgrade::ClusterFacade> next,
                             std::shared_ptr<driverupgrade::HttpTransport> transport, std::string node_name)
    : ForwardingFacade(std::move(next)), objects_(std::move(transport)), node_name_(std::move(node_name)) {}

absl::Status OneNodeFacade::WatchNodes(const driverupgrade::CallContext& context, const WatchParams& params,
                                       WatchSink<Node>& sink) {
  static const ObjectKind kNodes{.group_version = "v1", .resource = "nodes", .namespaced = false};
  ParsingSink parsing(sink);
  const absl::Status ended = objects_.WatchOne(context, kNodes, {.name = node_name_}, params, parsing);
  return parsing.status().ok() ? ended : parsing.status();
}

}  // namespace safe_load_init
