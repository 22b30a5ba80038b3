# quern_test(<name> SOURCES <file>... LABELS <ring>... [LIBS <target>...] [TIMEOUT <seconds>] [APART <suite>] [ALONE <file>...])
#
# One Boost.Test program, test_<name>, out of all SOURCES, and one CTest of the same name. LABELS starts with the ring:
# unit, component, integration, interop, simulation or conformance; `threads` follows where several run at once, which is
# what the thread sanitizer is for. The program's main() and the precompiled header come from tests/support. A suite that
# stands APART is a test of its own, <name>.<suite>, which may run beside the rest. ALONE are sources with names that
# others of the same test have too.
#
# The test runs in the root of the tree with
#   QUERN_BIN_DIR  where the built programs are
#   QUERN_TMP_DIR  an existing folder of its own, for whatever it writes

set(quern_limit_unit 120)
set(quern_limit_component 120)
set(quern_limit_simulation 300)
set(quern_limit_conformance 300)
set(quern_limit_integration 300)
set(quern_limit_interop 300)

# The tests of a label that are programs, to be built without the others.
foreach(label unit component simulation threads)
    if(NOT TARGET ${label}_tests)
        add_custom_target(${label}_tests)
    endif()
endforeach()

# The sanitizers of these compilers lose their shadow memory on kernels that randomise addresses with more bits than they
# knew of. Where the system lets us, tests run without randomising.
set(quern_run ${CMAKE_CROSSCOMPILING_EMULATOR})
if(QUERN_SANITIZE)
    find_program(QUERN_SETARCH setarch)
    mark_as_advanced(QUERN_SETARCH)
    if(QUERN_SETARCH)
        execute_process(COMMAND "${QUERN_SETARCH}" -R true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
        if(NOT refused)
            set(quern_run "${QUERN_SETARCH}" -R)
        endif()
    endif()
endif()

function(quern_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;APART" "SOURCES;LABELS;LIBS;ALONE")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES OR NOT arg_LABELS)
        message(FATAL_ERROR "quern_test(${name}): SOURCES and LABELS are needed; not understood: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    list(GET arg_LABELS 0 ring)
    if(NOT DEFINED quern_limit_${ring})
        message(FATAL_ERROR "quern_test(${name}): '${ring}' is not a ring of tests")
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT ${quern_limit_${ring}})
    endif()
    if(CMAKE_CROSSCOMPILING_EMULATOR)
        math(EXPR arg_TIMEOUT "15 * ${arg_TIMEOUT}")
    endif()

    set(target test_${name})
    add_executable(${target} ${arg_SOURCES})
    set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_precompile_headers(${target} REUSE_FROM quern_test_main)
    target_link_libraries(${target} PRIVATE quern_test_main ${arg_LIBS})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin"
        UNITY_BUILD ${QUERN_UNITY} UNITY_BUILD_BATCH_SIZE 4)
    foreach(label ${arg_LABELS})
        if(TARGET ${label}_tests)
            add_dependencies(${label}_tests ${target})
        endif()
    endforeach()

    set(scratch "${PROJECT_BINARY_DIR}/tests/tmp/${name}")
    file(MAKE_DIRECTORY "${scratch}")
    set(tests ${name})
    set(its_suites)
    if(arg_APART)
        list(APPEND tests ${name}.${arg_APART})
        set(its_suites "--run_test=!${arg_APART}")
        add_test(NAME ${name}.${arg_APART}
            COMMAND ${quern_run} $<TARGET_FILE:${target}> --color_output=no "--run_test=${arg_APART}"
            WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    endif()
    add_test(NAME ${name} COMMAND ${quern_run} $<TARGET_FILE:${target}> --color_output=no ${its_suites}
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set(environment
        "QUERN_BIN_DIR=${PROJECT_BINARY_DIR}/bin"
        "QUERN_TMP_DIR=${scratch}"
        "AWS_CONFIG_FILE=/dev/null" # what the developer has there is none of a test's business
        "AWS_SHARED_CREDENTIALS_FILE=/dev/null"
        "AWS_EC2_METADATA_DISABLED=true" # nor whether the machine is an instance
        "UBSAN_OPTIONS=print_stacktrace=1"
        "TSAN_OPTIONS=second_deadlock_stack=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
    if(QUERN_SANITIZE) # they tell more of a signal than Boost.Test, and end
        list(APPEND environment "BOOST_TEST_CATCH_SYSTEM_ERRORS=no")
    endif()
    set_tests_properties(${tests} PROPERTIES
        LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${environment}")
    if(ring STREQUAL simulation) # the longest ones begin: the others run beside them
        set_tests_properties(${tests} PROPERTIES COST ${arg_TIMEOUT})
    endif()
endfunction()
