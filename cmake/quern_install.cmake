# What `cmake --install` puts in place, and the package that find_package(quern) finds there.

include(CMakePackageConfigHelpers)

set(quern_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/quern")

# Two sets, because the broker and the simulator need Boost.JSON and those who only consume queues should not.
get_property(quern_base_targets GLOBAL PROPERTY QUERN_LIBRARIES)
set(quern_local_targets ${quern_base_targets})
list(FILTER quern_base_targets EXCLUDE REGEX "^quern_(broker|sim)$")
list(FILTER quern_local_targets INCLUDE REGEX "^quern_(broker|sim)$")

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME libquern-dev)

install(TARGETS ${quern_base_targets} EXPORT quern-base)
install(EXPORT quern-base NAMESPACE quern:: FILE quern-targets.cmake DESTINATION "${quern_package_dir}")
if(quern_local_targets)
    install(TARGETS ${quern_local_targets} EXPORT quern-local)
    install(EXPORT quern-local NAMESPACE quern:: FILE quern-local-targets.cmake DESTINATION "${quern_package_dir}")
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/lib/quern" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "detail" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# quern.pc, quern-sqs.pc and so on, for those who build without CMake: what each target links, in their words. Archives do
# not know what they need, so the linker is told all of it.
set(pc_include "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH pc_include "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/${CMAKE_INSTALL_INCLUDEDIR}")
    set(pc_include "\${pcfiledir}/${pc_include}") # the package may be moved
endif()
foreach(target IN LISTS quern_base_targets quern_local_targets)
    set(pc_name quern)
    get_target_property(export_name ${target} EXPORT_NAME)
    if(NOT export_name STREQUAL "quern")
        set(pc_name quern-${export_name})
    endif()
    set(pc_target ${target})
    set(pc_requires)
    set(pc_libs)
    get_target_property(linked ${target} LINK_LIBRARIES)
    foreach(dependency IN LISTS linked)
        if(dependency STREQUAL "quern::quern")
            list(APPEND pc_requires quern)
        elseif(dependency MATCHES "^quern::(.*)$")
            list(APPEND pc_requires quern-${CMAKE_MATCH_1})
        elseif(dependency MATCHES "^OpenSSL::(SSL|Crypto)$")
            string(TOLOWER "lib${CMAKE_MATCH_1}" library)
            list(APPEND pc_requires ${library})
        elseif(dependency STREQUAL "simdjson::simdjson")
            list(APPEND pc_requires simdjson)
        elseif(dependency STREQUAL "Threads::Threads")
            list(APPEND pc_libs -pthread)
        elseif(dependency STREQUAL "Boost::json")
            list(APPEND pc_libs -lboost_json -lboost_container)
        elseif(NOT dependency MATCHES "quern_build|^Boost::headers$")
            message(FATAL_ERROR "${pc_name}.pc: no word for ${dependency}")
        endif()
    endforeach()
    list(JOIN pc_requires " " pc_requires)
    list(JOIN pc_libs " " pc_libs)
    configure_file("${CMAKE_CURRENT_LIST_DIR}/quern.pc.in" "${PROJECT_BINARY_DIR}/${pc_name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

# Handlers are coroutines too: python3 <prefix>/share/quern/check_coroutines.py --files FILE...
install(FILES
    "${PROJECT_SOURCE_DIR}/tools/check_coroutines.py"
    "${PROJECT_SOURCE_DIR}/tools/coroutine_ends.py"
    "${PROJECT_SOURCE_DIR}/tools/coroutine_text.py"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/quern")

configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/quern-config.cmake.in" "${PROJECT_BINARY_DIR}/quern-config.cmake"
    INSTALL_DESTINATION "${quern_package_dir}")
# Until 1.0 a minor release may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/quern-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/quern-config.cmake"
    "${PROJECT_BINARY_DIR}/quern-config-version.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/quern_simdjson.cmake"
    DESTINATION "${quern_package_dir}")
