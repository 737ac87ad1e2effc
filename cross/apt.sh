# Functions for installing Debian packages, to be sourced by scripts. Non-interactive.

apt_retry() {  # COMMAND...: retries up to twice, in case the archive is busy or being updated
  local attempt
  for attempt in 1 2 3; do
    "$@" && return 0
    [ "$attempt" = 3 ] || { echo "failed, trying again ($attempt of 2): $*" >&2; sleep $((attempt * 5)); }
  done
  return 1
}

apt_missing() {  # PACKAGE...: prints those that are not installed
  local package
  for package in $(printf '%s\n' "$@" | sort -u); do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
      installed) ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

apt_install_missing() {  # PACKAGE...: as root, or with sudo for apt-get only
  local missing as=()
  missing=$(apt_missing "$@")
  [ -n "$missing" ] || return 0
  echo "installing packages: $missing"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      { echo "not root and no sudo; run as root: apt-get install $missing" >&2; return 1; }
    as=(sudo)
  fi
  as+=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  apt_retry "${as[@]}" update || return 1
  # shellcheck disable=SC2086
  apt_retry "${as[@]}" install -y --no-install-recommends $missing >/dev/null ||
    { echo "could not install: $missing" >&2; return 1; }
}
