#!/bin/sh
# Prometheus, promtool and Alertmanager of Debian into this folder: nothing is installed, nothing is started, no root is needed.
set -eu
mkdir -p lists/partial cache/archives/partial
apt() { apt-get -q -o Dir::State::Lists="$PWD/lists" -o Dir::Cache="$PWD/cache" -o APT::Sandbox::User= "$@"; }
apt update
apt download prometheus prometheus-alertmanager
for package in *.deb; do dpkg-deb -x "$package" root; done
rm -rf lists cache ./*.deb
