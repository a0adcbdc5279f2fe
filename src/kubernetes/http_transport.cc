#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade {

void LineSink::OnOpen(const HttpResponse&) {}

}  // namespace driverupgrade
