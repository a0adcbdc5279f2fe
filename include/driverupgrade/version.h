/// The version of the library, which follows semantic versioning. Before 1.0, a minor release may break source
/// compatibility; if it does, the shared object name also changes. The label and annotation keys (driver_identity.h)
/// are a wire format, and changes to these keys follow the same rules.
///
/// Defines DRIVERUPGRADE_VERSION_STRING and its three parts. The build reads the version from this file.
///
///     static_assert(DRIVERUPGRADE_VERSION_MAJOR == 0);
#ifndef DRIVERUPGRADE_VERSION_H_
#define DRIVERUPGRADE_VERSION_H_

#define DRIVERUPGRADE_VERSION_MAJOR 0
#define DRIVERUPGRADE_VERSION_MINOR 9
#define DRIVERUPGRADE_VERSION_PATCH 0
#define DRIVERUPGRADE_VERSION_STRING "0.9.0"

#endif  // DRIVERUPGRADE_VERSION_H_
