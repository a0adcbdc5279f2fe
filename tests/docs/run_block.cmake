# Runs one block of commands that needs no cluster, from the repository's root directory, as a reader would.
#
#   cmake -DPAGE=... -DNAME=... -DROOT=... -DBIN=... -DWORK_DIR=... [-DDUMP=...] -P run_block.cmake
#
# BIN replaces build/release/bin. With DUMP, `kubectl` prints this file, regardless of its arguments. If the page has a
# block below `<!-- output: NAME -->`, the commands must print exactly the text of that block.
cmake_minimum_required(VERSION 3.23)
include(${CMAKE_CURRENT_LIST_DIR}/markdown.cmake)

markdown_lines("${PAGE}" lines)
set(commands "")
set(printed "")
set(before "")
set(inside "")
foreach(line IN LISTS lines)
  if(line STREQUAL "```sh" AND before STREQUAL "<!-- run: ${NAME} -->")
    set(inside commands)
  elseif(line STREQUAL "```" AND before STREQUAL "<!-- output: ${NAME} -->")
    set(inside printed)
  elseif(line STREQUAL "```")
    set(inside "")
  elseif(inside)
    string(APPEND ${inside} "${line}\n")
  endif()
  set(before "${line}")
endforeach()
if(commands STREQUAL "")
  message(FATAL_ERROR "${PAGE} has no block ${NAME}")
endif()

markdown_decode("${commands}" commands)
string(REPLACE "build/release/bin/" "${BIN}/" commands "${commands}")
file(MAKE_DIRECTORY "${WORK_DIR}")
if(DUMP)
  file(WRITE "${WORK_DIR}/kubectl" "#!/bin/sh\nexec cat '${DUMP}'\n")
  file(CHMOD "${WORK_DIR}/kubectl" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endif()
set(ENV{PATH} "${WORK_DIR}:$ENV{PATH}")
execute_process(
  COMMAND bash -euo pipefail -c "${commands}"
  WORKING_DIRECTORY "${ROOT}"
  OUTPUT_VARIABLE output RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PAGE}: ${NAME}: exit code ${result}\n${commands}${output}")
elseif(output STREQUAL "")
  message(FATAL_ERROR "${PAGE}: ${NAME} prints nothing")
endif()
markdown_decode("${printed}" printed)
if(NOT printed STREQUAL "" AND NOT output STREQUAL printed)
  message(FATAL_ERROR "${PAGE}: ${NAME} prints\n${output}and not\n${printed}")
endif()
