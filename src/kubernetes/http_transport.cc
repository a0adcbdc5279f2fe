#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade::inline v1 {

void LineSink::OnOpen(const HttpResponse&) {}

}  // namespace driverupgrade::inline v1
