#pragma once

/// Everything a program needs that consumes a queue.

#include <quern/consumer/consumer.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/client.hpp>
