#!/bin/sh
# Stops the daemon when the package goes, not when it is replaced by a newer one.
# Jobs and configuration stay.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now cuzk || true
	fi
	;;
esac
