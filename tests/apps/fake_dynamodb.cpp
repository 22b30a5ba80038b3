// A DynamoDB for the tests of the program: prints its URL, and serves until it is ended.

#include "support/fake_dynamodb.hpp"

#include <cstdio>

int main()
{
    boost::asio::io_context io;
    quern::test::fake_dynamodb service(io);
    std::printf("%s\n", service.url().c_str());
    std::fflush(stdout);
    io.run();
}
