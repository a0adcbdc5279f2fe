# Checks deploy/ with Prometheus' own tool. The alerts must be valid and fire as rules_test.yaml requires, and the
# dashboard's queries must be valid.
#
#   cmake -DPROMTOOL=... -DSOURCE_DIR=... -DWORK_DIR=... -P promtool.cmake
cmake_minimum_required(VERSION 3.23)

set(rules "${SOURCE_DIR}/deploy/prometheus")
execute_process(COMMAND "${PROMTOOL}" check rules "${rules}/rules.yaml" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PROMTOOL}" test rules "${rules}/rules_test.yaml" COMMAND_ERROR_IS_FATAL ANY)

# Converts the queries to rules, with values in place of Grafana's variables.
file(READ "${SOURCE_DIR}/deploy/grafana/driver-upgrades.json" dashboard)
set(asked "groups:\n- name: dashboard\n  rules:\n")
set(count 0)
string(JSON panels LENGTH "${dashboard}" panels)
math(EXPR last_panel "${panels} - 1")
foreach(panel RANGE ${last_panel})
  string(JSON targets LENGTH "${dashboard}" panels ${panel} targets)
  math(EXPR last_target "${targets} - 1")
  foreach(target RANGE ${last_target})
    string(JSON query GET "${dashboard}" panels ${panel} targets ${target} expr)
    string(REPLACE "$driver" ".*" query "${query}")
    string(REPLACE "$__rate_interval" "5m" query "${query}")
    string(REPLACE "'" "''" query "${query}")
    string(APPEND asked "  - {record: 'asked_${count}', expr: '${query}'}\n")
    math(EXPR count "${count} + 1")
  endforeach()
endforeach()
file(WRITE "${WORK_DIR}/dashboard.yaml" "${asked}")
execute_process(COMMAND "${PROMTOOL}" check rules "${WORK_DIR}/dashboard.yaml" COMMAND_ERROR_IS_FATAL ANY)
