# Tests by name: tests/unit/<room>/test_*.c, tests/fuzz/fuzz_*.c, tests/system/test_*.py,
# tests/house/test_*.py.
#
# A system test says how it wants to be run in comments within its first 20 lines:
#   # ctest: serial        alone on the machine (it measures time)
#   # ctest: timed         not beside another of these (its tasks have their times, with some room)
#   # ctest: timeout=300   seconds, default 120; a sanitizer build gets four times as long
#   # ctest: sanitize      also with the sanitizer builds (sanitize=address, sanitize=thread: with
#                          that one only)
#   # ctest: ack-v2        also with the server's longer ack subjects
#   # ctest: faults        with the AX_FAULTS build and no other

file(GLOB UNIT_TESTS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/*/test_*.c)
file(GLOB FUZZ_TARGETS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
file(GLOB HOUSE_TESTS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/house/test_*.py)
file(GLOB SYSTEM_TESTS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/system/test_*.py)

# How a test is run (tools, python, node modules) is looked up when it runs, not when the build is
# configured.
set(RUN ${CMAKE_SOURCE_DIR}/scripts/run-test)
set(NO_ASLR ${CMAKE_SOURCE_DIR}/scripts/without-aslr)
set(PYTHON_VARIABLES "PYTHONDONTWRITEBYTECODE=1;PYTHONUNBUFFERED=1")

# Long ones without a second thread: nothing for TSan to see.
set(ONE_THREAD "^test_(filter|idset|days|pace|batch_index)$")

# prefix: "" for this build, "asan." … for a nested one. bin: where its programs are. More
# arguments: what runs them.
function(ax_add_unit_tests prefix bin)
    foreach(file ${UNIT_TESTS})
        get_filename_component(name ${file} NAME_WE)
        if(prefix STREQUAL "tsan." AND name MATCHES "${ONE_THREAD}")
            continue()
        endif()
        add_test(NAME ${prefix}unit.${name} COMMAND ${ARGN} ${bin}/${name}
            WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
        set_tests_properties(${prefix}unit.${name} PROPERTIES LABELS "unit" TIMEOUT 120)
    endforeach()
endfunction()

function(ax_add_fuzz_tests prefix bin)
    foreach(file ${FUZZ_TARGETS})
        get_filename_component(name ${file} NAME_WE)
        string(REGEX REPLACE "^fuzz_" "" short ${name})
        set(found ${CMAKE_BINARY_DIR}/corpus/${short})
        file(MAKE_DIRECTORY ${found})
        set(seeds)
        if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${short})
            set(seeds ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${short})
        endif()
        math(EXPR timeout "${AX_FUZZ_SECONDS} + 60")
        add_test(NAME ${prefix}fuzz.${short}
            COMMAND ${NO_ASLR} ${bin}/${name} -max_total_time=${AX_FUZZ_SECONDS} -timeout=10
                -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=${CMAKE_BINARY_DIR}/${name}- ${found} ${seeds}
            WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
        set_tests_properties(${prefix}fuzz.${short} PROPERTIES LABELS "fuzz" TIMEOUT ${timeout})
    endforeach()
endfunction()

# kind: "" for a plain build (all tests that need no other), else address, thread or faults (those
# that ask for it).
function(ax_add_system_tests prefix bin kind)
    set(sanitizer ${kind})
    if(kind STREQUAL "faults")
        set(sanitizer "")
    endif()
    foreach(file ${SYSTEM_TESTS})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
        file(STRINGS ${file} lines LIMIT_COUNT 20 ENCODING UTF-8)
        set(timeout 120)
        set(serial FALSE)
        set(timed FALSE)
        set(sanitize FALSE)
        set(ack_v2 FALSE)
        set(needs "")
        foreach(line ${lines})
            if(line MATCHES "^# ctest: serial")
                set(serial TRUE)
            elseif(line MATCHES "^# ctest: timed")
                set(timed TRUE)
            elseif(line MATCHES "^# ctest: timeout=([0-9]+)")
                set(timeout ${CMAKE_MATCH_1})
            elseif(line MATCHES "^# ctest: ack-v2")
                set(ack_v2 TRUE)
            elseif(line MATCHES "^# ctest: faults")
                set(needs "faults")
            elseif(line MATCHES "^# ctest: sanitize(=([a-z]+))?")
                if(NOT CMAKE_MATCH_2 OR CMAKE_MATCH_2 STREQUAL sanitizer)
                    set(sanitize TRUE)
                endif()
            endif()
        endforeach()
        if(sanitizer AND NOT sanitize AND NOT AX_ALL_TESTS)
            continue()
        endif()
        if(needs AND NOT needs STREQUAL kind OR kind STREQUAL "faults" AND NOT needs)
            continue()
        endif()
        get_filename_component(name ${file} NAME_WE)
        string(REGEX REPLACE "^test_" "" short ${name})
        set(variables "AX_BIN_DIR=${bin};AX_SANITIZE=${sanitizer};${PYTHON_VARIABLES}")
        set(run)
        if(sanitizer)
            math(EXPR timeout "${timeout} * 4")
            set(run ${NO_ASLR})
        endif()
        set(test ${prefix}system.${short})
        set(tests ${test})
        add_test(NAME ${test} COMMAND ${run} ${RUN} ${file} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
        if(ack_v2 AND NOT sanitizer)
            add_test(NAME ${test}.ack-v2 COMMAND ${run} ${RUN} ${file}
                WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
            list(APPEND tests ${test}.ack-v2)
        endif()
        set_tests_properties(${tests} PROPERTIES LABELS "system" TIMEOUT ${timeout}
            RUN_SERIAL ${serial} SKIP_RETURN_CODE 77 ENVIRONMENT "${variables}")
        if(timed)
            set_tests_properties(${tests} PROPERTIES RESOURCE_LOCK time)
        endif()
        if(ack_v2 AND NOT sanitizer)
            set_tests_properties(${test}.ack-v2 PROPERTIES
                ENVIRONMENT "${variables};AX_TEST_ACK_V2=1")
        endif()
    endforeach()
endfunction()

# ---- programs of the tests

if(UNIT_TESTS AND NOT AX_FUZZ)
    pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
endif()
if(AX_FAULTS)
    add_library(ax_oom SHARED ${CMAKE_SOURCE_DIR}/tests/faults/oom.c)
    target_compile_options(ax_oom PRIVATE -fno-builtin)
    target_link_libraries(ax_oom PRIVATE ax_flags)
    set_target_properties(ax_oom PROPERTIES
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    ax_add_system_tests("" ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} faults)
    return()
endif()
if(UNIT_TESTS AND CMOCKA_FOUND AND NOT AX_FUZZ)
    foreach(file ${UNIT_TESTS})
        get_filename_component(name ${file} NAME_WE)
        add_executable(${name} ${file})
        target_link_libraries(${name} PRIVATE ax_flags ax_cli ax_ingress ax_dispatch ax_wire ax_core
            PkgConfig::CMOCKA)
    endforeach()
    if(AX_SANITIZE)
        ax_add_unit_tests("" ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${NO_ASLR})
    else()
        ax_add_unit_tests("" ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    endif()
elseif(UNIT_TESTS AND NOT AX_FUZZ)
    message(STATUS "cmocka is not installed: no unit tests (scripts/setup test installs it)")
endif()

if(AX_FUZZ)
    foreach(file ${FUZZ_TARGETS})
        get_filename_component(name ${file} NAME_WE)
        # A daemon without a network: tests/fuzz/fake_wire.h.
        file(STRINGS ${file} fake REGEX "include .fake_wire.h")
        set(wire ax_wire)
        if(fake)
            set(wire)
        endif()
        add_executable(${name} ${file})
        if(fake)
            target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/fake_wire.c)
        endif()
        target_link_libraries(${name} PRIVATE ax_flags ax_ingress ax_dispatch ${wire} ax_core)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    endforeach()
    ax_add_fuzz_tests("" ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
endif()

ax_add_system_tests("" ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} "${AX_SANITIZE}")

# ---- the house: how the source itself is written; they read it, and run nothing of it

if(NOT AX_SANITIZE AND NOT AX_FUZZ)
    foreach(file ${HOUSE_TESTS})
        get_filename_component(name ${file} NAME_WE)
        string(REGEX REPLACE "^test_" "house." name ${name})
        add_test(NAME ${name} COMMAND ${RUN} ${file} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
        set_tests_properties(${name} PROPERTIES LABELS "house" TIMEOUT 60 SKIP_RETURN_CODE 77
            ENVIRONMENT "${PYTHON_VARIABLES}")
    endforeach()
endif()

# ---- the tables of moves: as the docs show them, and as the model takes them

if(NOT AX_SANITIZE AND NOT AX_FUZZ)
    add_executable(print_moves ${CMAKE_SOURCE_DIR}/tests/moves/print_moves.c)
    target_link_libraries(print_moves PRIVATE ax_flags ax_ingress ax_dispatch ax_wire ax_core)
    foreach(test docs model)
        add_test(NAME house.moves_${test} COMMAND ${RUN} ${CMAKE_SOURCE_DIR}/tests/moves/${test}.py
            WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
        set_tests_properties(house.moves_${test} PROPERTIES LABELS "house" TIMEOUT 60 SKIP_RETURN_CODE 77
            ENVIRONMENT "AX_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};${PYTHON_VARIABLES}")
    endforeach()
endif()

# ---- models of the order of steps (tests/model/README.md): a test for each line " * holds: …" and
# " * fails: …"

if(NOT AX_SANITIZE AND NOT AX_FUZZ)
    file(GLOB MODELS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/model/*.pml)
    foreach(file ${MODELS})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
        get_filename_component(model ${file} NAME_WE)
        file(STRINGS ${file} lines REGEX "^ \\* (holds|fails): ")
        foreach(line ${lines})
            string(REGEX REPLACE "^ \\* (holds|fails): ([a-z0-9-]+).*" "\\2" case "${line}")
            add_test(NAME model.${model}.${case}
                COMMAND ${RUN} ${CMAKE_SOURCE_DIR}/tests/model/check.py ${model} ${case}
                WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
            set_tests_properties(model.${model}.${case} PROPERTIES LABELS "model" TIMEOUT 300
                SKIP_RETURN_CODE 77 ENVIRONMENT "${PYTHON_VARIABLES}")
        endforeach()
    endforeach()
endif()

# ---- chaos: the harness that tries to break AX; its judge by itself

add_test(NAME chaos.judge COMMAND ${RUN} ${CMAKE_SOURCE_DIR}/tests/chaos/test_judge.py)
set_tests_properties(chaos.judge PROPERTIES LABELS "chaos" TIMEOUT 60
    ENVIRONMENT "${PYTHON_VARIABLES}")

# A short form of `make chaos` with fixed seeds, alone on the machine: it is all processes already.
function(ax_add_chaos_test name servers seconds rate seed)
    add_test(NAME chaos.${name}
        COMMAND ${RUN} ${CMAKE_SOURCE_DIR}/tests/chaos/run.py --servers ${servers}
            --seconds ${seconds} --rate ${rate} --seed ${seed} --every 1 --languages python,c
        WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
    set_tests_properties(chaos.${name} PROPERTIES LABELS "chaos" TIMEOUT 600 RUN_SERIAL TRUE
        SKIP_RETURN_CODE 77
        ENVIRONMENT "AX_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};${PYTHON_VARIABLES}")
endfunction()
if(NOT AX_SANITIZE AND NOT AX_FUZZ)
    ax_add_chaos_test(single 1 12 60 22)
    ax_add_chaos_test(cluster 3 15 25 24)
endif()

# ---- the same sources built for finding faults, below this build, their tests in this ctest

function(ax_nested name)
    ExternalProject_Add(${name}
        SOURCE_DIR ${CMAKE_SOURCE_DIR}
        BINARY_DIR ${CMAKE_BINARY_DIR}/${name}
        PREFIX ${CMAKE_BINARY_DIR}/${name}-steps
        CMAKE_ARGS -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DAX_WERROR=${AX_WERROR} ${ARGN}
        BUILD_ALWAYS TRUE
        USES_TERMINAL_CONFIGURE TRUE USES_TERMINAL_BUILD TRUE
        INSTALL_COMMAND "" TEST_COMMAND "")
endfunction()

if(AX_CHECKS)
    # Quick to build; what is looked for does not depend on it.
    set(light -DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1\ -g1)
    ax_nested(asan -DAX_SANITIZE=address ${light})
    ax_add_unit_tests("asan." ${CMAKE_BINARY_DIR}/asan/bin ${NO_ASLR})
    ax_add_system_tests("asan." ${CMAKE_BINARY_DIR}/asan/bin address)

    ax_nested(tsan -DAX_SANITIZE=thread ${light})
    ax_add_unit_tests("tsan." ${CMAKE_BINARY_DIR}/tsan/bin ${NO_ASLR})
    ax_add_system_tests("tsan." ${CMAKE_BINARY_DIR}/tsan/bin thread)

    ax_nested(faults -DAX_FAULTS=ON)
    ax_add_system_tests("" ${CMAKE_BINARY_DIR}/faults/bin faults)

    if(FUZZ_TARGETS)
        find_program(CLANG NAMES clang REQUIRED)
        ax_nested(fuzz -DCMAKE_C_COMPILER=${CLANG} -DAX_FUZZ=ON -DAX_SANITIZE=address ${light})
        ax_add_fuzz_tests("" ${CMAKE_BINARY_DIR}/fuzz/bin)
    endif()
endif()
