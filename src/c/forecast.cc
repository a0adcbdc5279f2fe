// Defines functions that predict rollouts. Some builds of the C interface omit these functions (scripts/build-wasm.sh).
#include "c/guard.h"
#include "driverupgrade/c/driverupgrade.h"
#include "whatif/preflight/preflight_request.h"
#include "whatif/simulation/simulation_request.h"

using driverupgrade::internal::Guard;
using driverupgrade::internal::View;

du_code du_simulate(du_str request, du_str cluster, du_buf* out) {
  return Guard(out, {request, cluster},
               [&] { return driverupgrade::internal::SimulationOf(View(request), View(cluster)); });
}

du_code du_preflight(du_str request, du_str cluster, du_buf* out) {
  return Guard(out, {request, cluster},
               [&] { return driverupgrade::internal::PreflightOf(View(request), View(cluster)); });
}
