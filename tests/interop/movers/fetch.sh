#!/bin/sh
# lumigo-cli without what it depends on, a thousand packages of which one command needs four: those are in package.json.
set -eu
npm pack --silent lumigo-cli@0.48.4 >/dev/null
echo "2070352d86e6e56fb50def0dfec85ba9813d32d058d3079a000b77a3a6cc80553bebc585c926781ed50e181007c202b78da444562876880744708249cdcaf5a2  lumigo-cli-0.48.4.tgz" |
    sha512sum --check --quiet
rm -rf lumigo-cli package
tar -xzf lumigo-cli-0.48.4.tgz
mv package lumigo-cli
rm lumigo-cli-0.48.4.tgz
