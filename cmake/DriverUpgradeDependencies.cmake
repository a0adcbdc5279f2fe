# Finds the dependencies of the enabled targets. Every third-party package is private to the library, except the abseil
# types Status, StatusOr, Time and Duration.
find_package(absl CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(RapidJSON CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(Threads REQUIRED)

# RapidJSON's target is `rapidjson` in Conan and vcpkg, and `RapidJSON` upstream; Debian's package has no target. Puts
# RapidJSON into our own namespace. Otherwise, it would violate the one-definition rule in a consumer that uses
# RapidJSON with other settings.
add_library(driverupgrade_rapidjson INTERFACE)
if(TARGET rapidjson)
  target_link_libraries(driverupgrade_rapidjson INTERFACE rapidjson)
elseif(TARGET RapidJSON)
  target_link_libraries(driverupgrade_rapidjson INTERFACE RapidJSON)
else()
  target_include_directories(driverupgrade_rapidjson SYSTEM INTERFACE ${RAPIDJSON_INCLUDE_DIRS} ${RapidJSON_INCLUDE_DIRS})
endif()

# The target is `yaml-cpp` up to version 0.7, and `yaml-cpp::yaml-cpp` since version 0.8.
if(TARGET yaml-cpp::yaml-cpp)
  set(DRIVERUPGRADE_YAML_CPP yaml-cpp::yaml-cpp)
else()
  set(DRIVERUPGRADE_YAML_CPP yaml-cpp)
endif()

if(DRIVERUPGRADE_BUILD_PROMETHEUS)
  find_package(prometheus-cpp CONFIG REQUIRED)
endif()
if(DRIVERUPGRADE_BUILD_SERVICE)
  include(cmake/DriverUpgradeHttplib.cmake)
  if(NOT TARGET httplib::httplib)
    message(FATAL_ERROR "driverupgrade: no cpp-httplib; without it set DRIVERUPGRADE_BUILD_SERVICE=OFF")
  endif()
  find_package(OpenSSL REQUIRED)
endif()

if(DRIVERUPGRADE_BUILD_TRANSPORT_CPPREST)
  find_package(cpprestsdk CONFIG REQUIRED)
  find_package(OpenSSL REQUIRED)
endif()
if(DRIVERUPGRADE_BUILD_TRANSPORT_CURL)
  find_package(CURL 7.87 REQUIRED)
  find_package(OpenSSL REQUIRED)
endif()
