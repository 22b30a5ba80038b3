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
