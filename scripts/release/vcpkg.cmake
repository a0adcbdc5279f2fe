# Replaces vcpkg on a machine without it: defines the functions that our portfile calls.
#   cmake -DPORT=FOLDER -DDOWNLOADS=FOLDER -DPREFIX=FOLDER -DSOURCE=FOLDER -P vcpkg.cmake
# The archive is taken from DOWNLOADS if it has the port's hash. The library with the default features is installed into
# PREFIX.
set(CMAKE_CURRENT_LIST_DIR ${PORT})
set(CURRENT_PACKAGES_DIR ${PREFIX})
get_filename_component(PORT_NAME ${PORT} NAME)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_download_distfile out)
  cmake_parse_arguments(ARG "" "FILENAME;SHA512" "URLS" ${ARGN})
  file(SHA512 ${DOWNLOADS}/${ARG_FILENAME} hash)
  if(NOT hash STREQUAL ARG_SHA512)
    message(FATAL_ERROR "${ARG_FILENAME}: SHA512 is ${hash}, but the port has ${ARG_SHA512}")
  endif()
  set(${out} ${DOWNLOADS}/${ARG_FILENAME} PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive out)
  cmake_parse_arguments(ARG "" "ARCHIVE" "" ${ARGN})
  file(ARCHIVE_EXTRACT INPUT ${ARG_ARCHIVE} DESTINATION ${SOURCE})
  file(GLOB top ${SOURCE}/*)  # one directory, as vcpkg requires
  set(${out} ${top} PARENT_SCOPE)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(ARG "" "OUT_FEATURE_OPTIONS" "FEATURES" ${ARGN})
  foreach(option IN LISTS ARG_FEATURES)
    if(option MATCHES "^DRIVERUPGRADE_BUILD_(.*)$")
      string(COMPARE EQUAL ${CMAKE_MATCH_1} TRANSPORT_CURL on)
      list(APPEND options -D${option}=${on})
    endif()
  endforeach()
  set(${ARG_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(ARG "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  set(ENV{CCACHE_BASEDIR} ${ARG_SOURCE_PATH})
  # Uses the same options as the tests, so that nothing is compiled twice.
  run(${CMAKE_COMMAND} --preset release -S ${ARG_SOURCE_PATH} -B ${ARG_SOURCE_PATH}/build/release ${ARG_OPTIONS})
  set(build ${ARG_SOURCE_PATH}/build/release PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${build})
  run(${CMAKE_COMMAND} --install ${build} --prefix ${PREFIX})
endfunction()

# In vcpkg, the functions below move files to the directories where vcpkg's integration finds them.
function(vcpkg_cmake_config_fixup)
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(ARG "" "" "FILE_LIST" ${ARGN})
  file(COPY ${ARG_FILE_LIST} DESTINATION ${PREFIX}/share/${PORT_NAME})
endfunction()

set(PORT ${PORT_NAME})
include(${CMAKE_CURRENT_LIST_DIR}/portfile.cmake)
