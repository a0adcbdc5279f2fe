# Writes one pkg-config file for each component. The file requires the libraries that the component's target links, under
# pkg-config's names.

# driverupgrade_pkg_config_words(<words> <is_module> <target>): returns the words for a dependency in a pkg-config file,
# and whether the dependency is a pkg-config module.
function(driverupgrade_pkg_config_words words is_module library)
  set(${is_module} TRUE PARENT_SCOPE)
  if(library MATCHES "^driverupgrade::(.+)$")
    set(${words} "driverupgrade-${CMAKE_MATCH_1} = ${PROJECT_VERSION}" PARENT_SCOPE)
  elseif(library MATCHES "^absl::(.+)$")
    set(${words} absl_${CMAKE_MATCH_1} PARENT_SCOPE)
  elseif(library MATCHES "^(fmt|yaml-cpp)(::.+)?$")
    set(${words} ${CMAKE_MATCH_1} PARENT_SCOPE)
  elseif(library STREQUAL "prometheus-cpp::core")
    set(${words} prometheus-cpp-core PARENT_SCOPE)
  elseif(library STREQUAL "httplib::httplib" AND DRIVERUPGRADE_HTTPLIB_FOUND)
    set(${words} cpp-httplib PARENT_SCOPE)
  elseif(library STREQUAL "CURL::libcurl")
    set(${words} libcurl PARENT_SCOPE)
  elseif(library STREQUAL "OpenSSL::SSL")
    set(${words} libssl PARENT_SCOPE)
  elseif(library STREQUAL "OpenSSL::Crypto")
    set(${words} libcrypto PARENT_SCOPE)
  else()
    set(${is_module} FALSE PARENT_SCOPE)
    if(library STREQUAL "Threads::Threads")
      set(${words} -pthread PARENT_SCOPE)
    elseif(library STREQUAL "httplib::httplib")
      set(${words} "" PARENT_SCOPE)  # httplib's CMake package has only headers
    elseif(library STREQUAL "cpprestsdk::cpprest")
      set(${words} -lcpprest PARENT_SCOPE)  # cpprestsdk has no pkg-config file
    else()
      message(FATAL_ERROR "driverupgrade: the pkg-config name of ${library} is not known")
    endif()
  endif()
endfunction()

# driverupgrade_install_pkg_config(<component>): installs the pkg-config file of a component. The file of a static
# library names all libraries with which the library was linked. Consumers therefore do not need `pkg-config --static`,
# which would request static versions of all libraries.
function(driverupgrade_install_pkg_config component)
  set(target driverupgrade_${component})
  get_target_property(type ${target} TYPE)
  get_target_property(description ${target} DRIVERUPGRADE_DESCRIPTION)
  get_target_property(public ${target} INTERFACE_LINK_LIBRARIES)
  get_target_property(all ${target} LINK_LIBRARIES)
  list(FILTER all EXCLUDE REGEX "BUILD_INTERFACE")
  set(requires "")
  set(libs "")
  foreach(library IN LISTS all)
    if(type STREQUAL "SHARED_LIBRARY" AND NOT library IN_LIST public)
      continue()  # private to the library
    endif()
    driverupgrade_pkg_config_words(words is_module ${library})
    if(is_module)
      list(APPEND requires ${words})
    else()
      list(APPEND libs ${words})
    endif()
  endforeach()
  list(JOIN requires ", " requires)
  list(JOIN libs " " libs)
  # The path is relative to the file, so that the installed tree can be moved.
  file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" up "${up}")
  set(file ${PROJECT_BINARY_DIR}/driverupgrade-${component}.pc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/driverupgrade.pc.in ${file} @ONLY)
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT driverupgrade_dev)
endfunction()
