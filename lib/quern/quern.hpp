#pragma once

/// Everything a program needs that consumes a queue, or fills one.

#include <quern/aws/credentials/credential_chain.hpp>
#include <quern/consumer/client_options.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/consumer/consumer_group.hpp>
#include <quern/consumer/middleware.hpp>
#include <quern/consumer/s3_pointer.hpp>
#include <quern/consumer/sns.hpp>
#include <quern/consumer/typed.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/producer/producer.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/client.hpp>
