# driverupgrade_add_program(<name> SOURCES <files>... LIBRARIES <targets>...): adds a program of the examples or the
# tools. In #include directives, its files use paths that start with the name of the program's directory.
find_package(CLI11 CONFIG REQUIRED)

function(driverupgrade_add_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/..)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} CLI11::CLI11 fmt::fmt Threads::Threads)
  driverupgrade_compile_options(${name})
endfunction()
