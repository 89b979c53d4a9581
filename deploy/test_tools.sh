#!/bin/sh
# Installs what some tests of `make test-servers` need, on Debian and as root: Chromium, and Prometheus with promtool.
# Does nothing if they are there. If it cannot install them, those tests fail, and say what is missing.

missing=
command -v chromium >/dev/null || missing=chromium
command -v prometheus >/dev/null && command -v promtool >/dev/null || missing="$missing prometheus"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "some tests need programs that are not installed: $missing" >&2
  exit 1
fi
[ ! -d /run/systemd/system ] || systemctl --quiet mask prometheus # only its programs are wanted, not the service
export DEBIAN_FRONTEND=noninteractive
quietly="apt-get -qq -o DPkg::Lock::Timeout=60 -o Dpkg::Use-Pty=0"
echo "installing $missing"
$quietly update >/dev/null
# shellcheck disable=SC2086 # several names
$quietly install -y --no-install-recommends $missing >/dev/null 2>&1
