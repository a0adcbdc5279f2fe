# An overlay port: it builds the checkout that contains it. In a registry, vcpkg_from_github replaces the next line.
# vcpkg does not notice changes to the sources: after an edit, install with --no-binarycaching.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  FEATURES
    cpprest DRIVERUPGRADE_BUILD_TRANSPORT_CPPREST
    curl DRIVERUPGRADE_BUILD_TRANSPORT_CURL
    prometheus DRIVERUPGRADE_BUILD_PROMETHEUS
    service DRIVERUPGRADE_BUILD_SERVICE)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${feature_options}
    -DDRIVERUPGRADE_BUILD_TESTS=OFF
    -DDRIVERUPGRADE_BUILD_EXAMPLES=OFF
    -DDRIVERUPGRADE_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/driverupgrade)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
