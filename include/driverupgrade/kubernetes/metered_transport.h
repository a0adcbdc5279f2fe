/// Counts and times what goes through a transport.
///
/// Defines MakeMeteredTransport.
///
///     auto meter = std::make_shared<RequestMeter>();
///     auto cluster = MakeRestCluster(MakeMeteredTransport(*MakeCpprestTransport(config, {}), meter));
///
/// Each request counts once, by verb, resource and code, all of closed sets: resources are those that RestCluster
/// knows, and `other`; codes are HTTP statuses that Kubernetes uses, `1xx` to `5xx` for others of their class,
/// `invalid`, and the names of absl::StatusCode where there was no answer. A watch counts as soon as it is open, and
/// has no duration.
/// Nothing is changed of what passes. Thread-safe if `next` is.
#ifndef DRIVERUPGRADE_KUBERNETES_METERED_TRANSPORT_H_
#define DRIVERUPGRADE_KUBERNETES_METERED_TRANSPORT_H_

#include <memory>

#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/request_meter.h"

namespace driverupgrade {

/// Holds shares of both, which are not null. `clock`: null for SystemClock().
std::shared_ptr<HttpTransport> MakeMeteredTransport(std::shared_ptr<HttpTransport> next,
                                                    std::shared_ptr<RequestMeter> meter,
                                                    std::shared_ptr<Clock> clock = nullptr);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_METERED_TRANSPORT_H_
