# One export set per component, so that a component whose dependency is absent does not break the others.
include(CMakePackageConfigHelpers)
include(cmake/DriverUpgradePkgConfig.cmake)

set(DRIVERUPGRADE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/driverupgrade)
get_property(components GLOBAL PROPERTY DRIVERUPGRADE_COMPONENTS)
foreach(component IN LISTS components)
  install(TARGETS driverupgrade_${component}
    EXPORT driverupgrade-${component}
    ARCHIVE COMPONENT driverupgrade_dev
    LIBRARY COMPONENT driverupgrade_rt NAMELINK_COMPONENT driverupgrade_dev
    FILE_SET HEADERS COMPONENT driverupgrade_dev)
  install(EXPORT driverupgrade-${component}
    NAMESPACE driverupgrade::
    FILE driverupgrade-${component}-targets.cmake
    DESTINATION ${DRIVERUPGRADE_CMAKE_DIR}
    COMPONENT driverupgrade_dev)
  driverupgrade_install_pkg_config(${component})
endforeach()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/driverupgradeConfig.cmake.in ${PROJECT_BINARY_DIR}/driverupgradeConfig.cmake
  INSTALL_DESTINATION ${DRIVERUPGRADE_CMAKE_DIR})
# Before 1.0 a minor release may break source compatibility.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/driverupgradeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/driverupgradeConfig.cmake ${PROJECT_BINARY_DIR}/driverupgradeConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/DriverUpgradeHttplib.cmake
  DESTINATION ${DRIVERUPGRADE_CMAKE_DIR}
  COMPONENT driverupgrade_dev)
include(GNUInstallDirs)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT driverupgrade_dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT driverupgrade_dev
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
