# Each component has its own export set, so that a missing dependency of one component does not break the others.
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
# Before 1.0, a minor release may break source compatibility.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/driverupgradeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/driverupgradeConfig.cmake ${PROJECT_BINARY_DIR}/driverupgradeConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/DriverUpgradeHttplib.cmake
  DESTINATION ${DRIVERUPGRADE_CMAKE_DIR}
  COMPONENT driverupgrade_dev)
include(GNUInstallDirs)

# driverupgrade_install_pages(<directory>): installs those files of <directory> that pages link to, at the same path
# below the documentation.
function(driverupgrade_install_pages folder)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder}
    COMPONENT driverupgrade_doc
    OPTIONAL FILES_MATCHING ${ARGN})
endfunction()

# The pages and their link targets, in the same directories as in the sources. The test docs.installed checks that each
# link leads to a file. The files are optional, because the Conan recipe exports only part of the sources.
install(
  FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT driverupgrade_doc
  OPTIONAL)
driverupgrade_install_pages(docs PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN "*.json")
driverupgrade_install_pages(deploy PATTERN "*")
driverupgrade_install_pages(examples PATTERN "*" PATTERN "__pycache__" EXCLUDE)
driverupgrade_install_pages(bench PATTERN "README.md")
driverupgrade_install_pages(go/examples PATTERN "*.go" PATTERN "*.yaml")
driverupgrade_install_pages(go/pkg/upgradetest PATTERN "upgradetest.go")
driverupgrade_install_pages(go/pkg/whatif PATTERN "whatif.go")
driverupgrade_install_pages(tests/contract PATTERN "planted_defects_test.cc")
driverupgrade_install_pages(tests/controlplane PATTERN "README.md")
driverupgrade_install_pages(tests/docs PATTERN "*.md")
driverupgrade_install_pages(tests/field PATTERN "README.md")
driverupgrade_install_pages(tests/package/consumers PATTERN "*")
driverupgrade_install_pages(tests/planted PATTERN "README.md")
driverupgrade_install_pages(tests/scenarios PATTERN "README.md" PATTERN "policy_*.txt")
driverupgrade_install_pages(tests/simulation PATTERN "README.md" PATTERN "operator_example_test.cc")
driverupgrade_install_pages(tools/upgradectl PATTERN "README.md" PATTERN "rbac.yaml")
