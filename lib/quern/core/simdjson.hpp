#pragma once

/// simdjson as the library was compiled with it. By itself simdjson.h gives its parser another layout in units that
/// are compiled without optimisation: such a program would link, and crash. All units of a program that include
/// simdjson.h have to agree, also those that know nothing of Quern: where one is compiled without optimisation and
/// doesn't include this file first, define SIMDJSON_DEVELOPMENT_CHECKS=0 for it.

#ifndef SIMDJSON_DEVELOPMENT_CHECKS
#define SIMDJSON_DEVELOPMENT_CHECKS 0
#endif

#include <simdjson.h>

#if SIMDJSON_DEVELOPMENT_CHECKS
#error "Quern is compiled without the checks of simdjson's developers: define SIMDJSON_DEVELOPMENT_CHECKS=0"
#endif

namespace quern {

/// True for a number that simdjson cannot read. Its newer versions, 4.6 for one, have an error of its own for an
/// integer beyond 64 bits.
template <class ErrorCode>
constexpr bool is_number_error(ErrorCode e)
{
    if constexpr (requires { ErrorCode::BIGINT_ERROR; }) {
        if (e == ErrorCode::BIGINT_ERROR) return true;
    }
    return e == ErrorCode::NUMBER_ERROR;
}

} // namespace quern
