#!/bin/bash
# The list of Debian packages; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: packages.sh [--list | --missing] GROUP...

Installs the missing Debian packages of the groups with apt, as root or through sudo. Does nothing if no package is
missing, or if there is no dpkg.

  build   compiler, CMake and the libraries that Linnet is built with
  tests   further packages for tests/run.sh
  recipe  speech synthesisers, audio tools, gnuplot and libpng for the recipes
  cluster GNU parallel, Slurm and GridEngine, for recipes that run parts through them, and for their tests
  sound   a sound server, for the test of linnet listen with a microphone that has no hardware

  --list     only print the packages
  --missing  only print the packages that are not installed
END
}

packages_of() {
	case "$1" in
	build)
		echo build-essential cmake ninja-build pkg-config libjansson-dev libopenblas-dev libfftw3-dev
		echo libsndfile1-dev libsoxr-dev libpopt-dev zlib1g-dev portaudio19-dev
		;;
	tests) echo ccache sctk clang-format clang-tidy doxygen shellcheck locales openmpi-bin libopenmpi-dev gnuplot-nox graphviz praat ffmpeg ;;
	recipe) echo gnuplot-nox flite espeak-ng sox libpng-dev ;;
	cluster) echo parallel slurm-wlm munge gridengine-master gridengine-exec gridengine-client iproute2 ;;
	sound) echo pulseaudio pulseaudio-utils libasound2-plugins flite sox ;;
	*)
		echo "packages.sh: $1: is not a group; see --help" >&2
		return 2
		;;
	esac
}

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Runs apt-get without questions, as root. Waits until its locks are free; apt-get itself waits for the lock of dpkg.
apt() {
	local as_root=() errors status waited
	[ "$(id -u)" = 0 ] || as_root=(sudo)
	for ((waited = 0; waited < 1200; waited += 2)); do
		status=0
		errors=$("${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=1200 "$@" \
			2>&1 >&3) || status=$?
		[ -z "$errors" ] || printf '%s\n' "$errors" >&2
		[[ $status != 0 && $errors == *'Could not get lock'* ]] || break
		sleep 2
	done 3>&1
	return "$status"
}

action=install
case "${1-}" in
-h | --help) usage && exit 0 ;;
--list | --missing) action=${1#--} && shift ;;
esac
[ $# -gt 0 ] || {
	usage >&2
	exit 2
}

packages=()
for group; do
	list=$(packages_of "$group")
	read -r -d '' -a some <<<"$list" || true
	packages+=("${some[@]}")
done
if [ "$action" = list ]; then
	printf '%s\n' "${packages[@]}"
	exit
fi
if ! command -v dpkg-query >/dev/null; then
	echo "packages.sh: this is not a Debian system; install what Debian calls ${packages[*]}" >&2
	exit
fi

missing=()
for package in "${packages[@]}"; do
	installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} = 0 ]; then
	exit
fi
if [ "$action" = missing ]; then
	printf '%s\n' "${missing[@]}"
	exit
fi
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
	echo "packages.sh: run as root: apt-get install ${missing[*]}" >&2
	exit 1
fi
echo "packages.sh: installing ${missing[*]}" >&2
apt update
apt install --no-install-recommends "${missing[@]}"
