#pragma once

/// Refuses definitions that give Asio's classes another layout than the library was compiled with, or its functions
/// another result under the same name: such a program would link, and crash. All units of a program that include
/// Boost.Asio have to agree on these, also those that know nothing of Quern. BOOST_ASIO_SEPARATE_COMPILATION may
/// differ.

#if defined(BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE) && BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE != 2
#error "Quern is compiled with Asio's own BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE (2): leave that definition out"
#endif
#if defined(BOOST_ASIO_DISABLE_THREADS)
#error "Quern needs threads in Asio: leave the definition BOOST_ASIO_DISABLE_THREADS out"
#endif
#if defined(BOOST_ASIO_NO_DEPRECATED) // with it basic_socket::close(ec) and others return another type
#error "Quern is compiled with Asio as it is by itself: leave the definition BOOST_ASIO_NO_DEPRECATED out"
#endif
