#include <quern/aws/detail/call_steps.hpp>

namespace quern::aws {

template class signed_service<rest_signer>;

} // namespace quern::aws
