#!/bin/sh
# Makes the daemon's user and tells systemd of the unit. The daemon is not
# started: it needs keys first.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers cuzk.conf
elif ! getent passwd cuzk >/dev/null; then
	useradd --system --home-dir /var/lib/cuzk --shell /usr/sbin/nologin cuzk
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
echo "cuzk: next: cuzk params fetch --size 32GiB; cuzk doctor; systemctl enable --now cuzk"
