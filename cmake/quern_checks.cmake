# Tests that run no code of the library: the text itself (label lint), headers that must compile alone (label headers), what must not
# compile or not without a warning (label misuse),
# and the package that gets installed (label package).

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# --- lint ------------------------------------------------------------------------------------------------------------

# quern_lint(<name> SELF <arguments of the self test>...) adds lint.<name>, which runs tools/check_<name>.py on this tree,
# and lint.<name>.self, in which the script has to find what it was made to find.
function(quern_lint name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SELF")
    set(script "${PROJECT_SOURCE_DIR}/tools/check_${name}.py")
    add_test(NAME lint.${name} COMMAND Python3::Interpreter -B "${script}")
    add_test(NAME lint.${name}.self COMMAND Python3::Interpreter -B "${script}" --self-test ${arg_SELF})
    set_tests_properties(lint.${name} lint.${name}.self PROPERTIES LABELS lint TIMEOUT 60)
endfunction()

quern_lint(layers)
quern_lint(habits)
quern_lint(docs)
quern_lint(coroutines SELF "${PROJECT_SOURCE_DIR}/tests/lint/coroutines")

add_test(NAME lint.dashboard COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/tools/make_dashboard.py" --check)
set_tests_properties(lint.dashboard PROPERTIES LABELS lint TIMEOUT 60)

add_test(NAME lint.format COMMAND "${PROJECT_SOURCE_DIR}/tools/format.sh" --check)
set_tests_properties(lint.format PROPERTIES LABELS lint TIMEOUT 120 SKIP_RETURN_CODE 77)

# --- headers ---------------------------------------------------------------------------------------------------------

# One unit a public header, which includes it first and twice; those in detail/ come with them. Only this check may glob: it
# wants every one there is. It is no part of a normal build; the test builds it.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/lib" "${PROJECT_SOURCE_DIR}/lib/quern/*.hpp")
list(FILTER headers EXCLUDE REGEX "/detail/")
set(header_units)
foreach(header IN LISTS headers)
    set(unit "${PROJECT_BINARY_DIR}/tests/headers/${header}.cpp")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "#include <@header@>\n#include <@header@>\n" @ONLY)
    list(APPEND header_units "${unit}")
endforeach()

add_library(quern_headers OBJECT EXCLUDE_FROM_ALL ${header_units})
target_link_libraries(quern_headers PRIVATE quern::sqs)
target_compile_options(quern_headers PRIVATE -Wall -Wextra -Wpedantic -O0 -g0)

add_test(NAME headers COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target quern_headers)
set_tests_properties(headers PROPERTIES LABELS headers TIMEOUT 1200 RUN_SERIAL TRUE)

# --- misuse ----------------------------------------------------------------------------------------------------------

# What deletes a message by a slip of the pen has to make the compiler speak.
add_test(NAME misuse.forgotten
    COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/tests/misuse/warned.py" "${PROJECT_SOURCE_DIR}/tests/misuse/forgotten.cpp"
        -- "${CMAKE_CXX_COMPILER}" -std=c++20 -fsyntax-only -Wall -Wextra "-I${PROJECT_SOURCE_DIR}/lib")
# g++ 12 never warns of an awaited result that is dropped.
set(reader clang++)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(reader "${CMAKE_CXX_COMPILER}")
endif()
add_test(NAME misuse.forgotten_answers
    COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/tests/misuse/warned.py"
        "${PROJECT_SOURCE_DIR}/tests/misuse/forgotten_answers.cpp"
        -- "${reader}" -std=c++20 -fsyntax-only -Wall -Wextra "-I${PROJECT_SOURCE_DIR}/lib")
set_tests_properties(misuse.forgotten misuse.forgotten_answers PROPERTIES LABELS misuse TIMEOUT 120 SKIP_RETURN_CODE 77)
# Options that are left at their defaults are no news.
add_test(NAME misuse.designated
    COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -fsyntax-only -Wall -Wextra -Werror "-I${PROJECT_SOURCE_DIR}/lib"
        "${PROJECT_SOURCE_DIR}/tests/misuse/designated.cpp")
set_tests_properties(misuse.designated PROPERTIES LABELS misuse TIMEOUT 120)
# Definitions with which a program would link, and crash.
foreach(definition IN ITEMS BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_THREADS BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=8)
    string(REGEX REPLACE "=.*" "" name "${definition}")
    add_test(NAME misuse.${name}
        COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -fsyntax-only -x c++ "-D${definition}"
            "${PROJECT_SOURCE_DIR}/lib/quern/core/asio_layout.hpp")
    set_tests_properties(misuse.${name} PROPERTIES LABELS misuse TIMEOUT 120
        PASS_REGULAR_EXPRESSION "error: .*leave th(e|at) definition")
endforeach()
# Likewise simdjson in a unit that is compiled without optimisation, and that did not ask Quern for it.
add_test(NAME misuse.simdjson
    COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -O0 -fsyntax-only -x c++ -include simdjson.h
        "${PROJECT_SOURCE_DIR}/lib/quern/core/simdjson.hpp")
set_tests_properties(misuse.simdjson PROPERTIES LABELS misuse TIMEOUT 120
    PASS_REGULAR_EXPRESSION "error: .*define SIMDJSON_DEVELOPMENT_CHECKS=0")

# --- package ---------------------------------------------------------------------------------------------------------

set(stage "${PROJECT_BINARY_DIR}/tests/stage")
set(package_flags)
if(QUERN_SANITIZE)
    set(package_flags "-fsanitize=${QUERN_SANITIZE}")
endif()

add_test(NAME package.clean COMMAND "${CMAKE_COMMAND}" -E rm -rf "${stage}" "${PROJECT_BINARY_DIR}/tests/package")
add_test(NAME package.install COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${stage}")
add_test(NAME package.headers
    COMMAND "${CMAKE_COMMAND}"
        "-DINCLUDE=${stage}/${CMAKE_INSTALL_INCLUDEDIR}" "-DLIBRARY=${PROJECT_SOURCE_DIR}/lib"
        -P "${PROJECT_SOURCE_DIR}/tests/package/installed_headers.cmake")
add_test(NAME package.use
    COMMAND "${CMAKE_CTEST_COMMAND}"
        --build-and-test "${PROJECT_SOURCE_DIR}/tests/package" "${PROJECT_BINARY_DIR}/tests/package"
        --build-generator "${CMAKE_GENERATOR}"
        --build-options
            "-DCMAKE_PREFIX_PATH=${stage}"
            "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
            "-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}"
            "-DCMAKE_CXX_FLAGS=${package_flags}"
            "-DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}"
            "-DQUERN_EXPECTED_VERSION=${PROJECT_VERSION}"
            "-DQUERN_SANITIZED=${QUERN_SANITIZE}"
        --test-command "${CMAKE_CTEST_COMMAND}" --output-on-failure)
add_test(NAME package.check_coroutines
    COMMAND Python3::Interpreter -B "${stage}/${CMAKE_INSTALL_DATADIR}/quern/check_coroutines.py"
        --files "${PROJECT_SOURCE_DIR}/tests/package/client.cpp" "${PROJECT_SOURCE_DIR}/tests/package/shop.cpp"
        "${PROJECT_SOURCE_DIR}/tests/package/front_doors.cpp")
# Without CMake: nothing is defined but what the compiler defines.
set(package_tests package.clean package.install package.headers package.use package.check_coroutines)
if(NOT QUERN_SANITIZE)
    set(by_hand "${PROJECT_SOURCE_DIR}/tests/package/embedding")
    set(library "${stage}/${CMAKE_INSTALL_LIBDIR}/libquern")
    add_test(NAME package.compile_by_hand
        COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -O1 "-I${stage}/${CMAKE_INSTALL_INCLUDEDIR}"
            "${by_hand}/orders.cpp" "${by_hand}/threads.cpp" -o "${stage}/by_hand"
            "${library}.a" "${library}_broker.a" "${library}_sqs.a"
            -lssl -lcrypto -lsimdjson -lboost_json -lboost_container -lpthread)
    add_test(NAME package.run_by_hand COMMAND "${stage}/by_hand")
    set_tests_properties(package.compile_by_hand PROPERTIES FIXTURES_REQUIRED quern_stage FIXTURES_SETUP quern_by_hand)
    set_tests_properties(package.run_by_hand PROPERTIES FIXTURES_REQUIRED "quern_stage;quern_by_hand")
    list(APPEND package_tests package.compile_by_hand package.run_by_hand)

    set(pc "PKG_CONFIG_PATH=${stage}/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
    find_program(QUERN_PKG_CONFIG NAMES pkgconf pkg-config)
    find_program(QUERN_MESON meson)
    mark_as_advanced(QUERN_PKG_CONFIG QUERN_MESON)
    if(QUERN_PKG_CONFIG)
        add_test(NAME package.pkg_config COMMAND sh -ec
            "'${CMAKE_CXX_COMPILER}' -std=c++20 -O1 '${by_hand}/orders.cpp' '${by_hand}/threads.cpp' -o '${stage}/by_pkg_config' \
                $('${QUERN_PKG_CONFIG}' --cflags --libs quern quern-broker) && '${stage}/by_pkg_config'")
        list(APPEND package_tests package.pkg_config)
    endif()
    if(QUERN_PKG_CONFIG AND QUERN_MESON)
        add_test(NAME package.meson COMMAND sh -ec
            "CXX='${CMAKE_CXX_COMPILER}' '${QUERN_MESON}' setup '${stage}/meson' '${by_hand}' && \
                '${QUERN_MESON}' compile -C '${stage}/meson' && '${stage}/meson/orders'")
        list(APPEND package_tests package.meson)
    endif()
    foreach(test IN ITEMS package.pkg_config package.meson)
        if(test IN_LIST package_tests)
            set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED quern_stage ENVIRONMENT "${pc}")
        endif()
    endforeach()
endif()
if(CMAKE_GENERATOR STREQUAL "Ninja")
    add_test(NAME package.fetched
        COMMAND "${PROJECT_SOURCE_DIR}/tests/package/only_what_is_linked.sh"
            "${CMAKE_COMMAND}" "${PROJECT_SOURCE_DIR}" "${CMAKE_CXX_COMPILER}" "${PROJECT_BINARY_DIR}/tests/fetched")
    list(APPEND package_tests package.fetched)
    foreach(without IN ITEMS "QUERN_IDEMPOTENCY=OFF idempotency" "QUERN_SIM=OFF sim" "QUERN_BROKER=OFF broker sim"
            "CMAKE_DISABLE_FIND_PACKAGE_boost_json=ON broker sim")
        separate_arguments(without)
        list(GET without 0 setting)
        string(REGEX REPLACE "=.*" "" test "package.${setting}")
        add_test(NAME ${test}
            COMMAND "${PROJECT_SOURCE_DIR}/tests/package/without.sh" "${CMAKE_COMMAND}" "${PROJECT_SOURCE_DIR}"
                "${CMAKE_CXX_COMPILER}" "${PROJECT_BINARY_DIR}/tests/${test}" ${without})
        list(APPEND package_tests ${test})
    endforeach()
endif()

set_tests_properties(package.clean PROPERTIES FIXTURES_SETUP quern_clean_stage)
set_tests_properties(package.install PROPERTIES FIXTURES_REQUIRED quern_clean_stage FIXTURES_SETUP quern_stage)
set_tests_properties(package.headers package.use package.check_coroutines PROPERTIES FIXTURES_REQUIRED quern_stage)
set_tests_properties(${package_tests} PROPERTIES LABELS package TIMEOUT 600)
