# What `cmake --install` puts in place, and the package that find_package(quern) finds there.

include(CMakePackageConfigHelpers)

set(quern_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/quern")

# Two sets, because the broker and the simulator need Boost.JSON and those who only consume queues should not.
set(quern_base_targets quern_sqs)
set(quern_local_targets)
foreach(target IN ITEMS quern quern_services quern_idempotency quern_flags quern_metrics quern_tracing quern_relay quern_redrive quern_admin)
    if(TARGET ${target})
        list(APPEND quern_base_targets ${target})
    endif()
endforeach()
foreach(target IN ITEMS quern_broker quern_sim)
    if(TARGET ${target})
        list(APPEND quern_local_targets ${target})
    endif()
endforeach()

install(TARGETS ${quern_base_targets} EXPORT quern-base ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT quern-base NAMESPACE quern:: FILE quern-targets.cmake DESTINATION "${quern_package_dir}")
if(quern_local_targets)
    install(TARGETS ${quern_local_targets} EXPORT quern-local ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(EXPORT quern-local NAMESPACE quern:: FILE quern-local-targets.cmake DESTINATION "${quern_package_dir}")
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/lib/quern" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "detail" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

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
    DESTINATION "${quern_package_dir}")
