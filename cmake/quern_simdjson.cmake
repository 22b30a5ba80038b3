# Newer packages of simdjson (4.6 is one) ask for its developers' checks in debug builds, with which its parser has another layout.
# All units of a program have to agree, and Quern is compiled without: see quern/core/simdjson.hpp.
get_target_property(quern_simdjson simdjson::simdjson ALIASED_TARGET)
if(NOT quern_simdjson)
    set(quern_simdjson simdjson::simdjson)
endif()
get_target_property(quern_definitions ${quern_simdjson} INTERFACE_COMPILE_DEFINITIONS)
if(quern_definitions)
    list(FILTER quern_definitions EXCLUDE REGEX SIMDJSON_DEVELOPMENT_CHECKS)
    set_target_properties(${quern_simdjson} PROPERTIES INTERFACE_COMPILE_DEFINITIONS "${quern_definitions}")
endif()
unset(quern_definitions)
unset(quern_simdjson)
