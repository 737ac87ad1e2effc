# Debian packages of another architecture, fetched with a private package state and unpacked, never installed.
# Sourced after cross/apt.sh.

# ARCH STATE_DIR: prepares the state and fetches the index; sets the array `foreign_apt`.
foreign_index() {
  local arch=$1 state=$2 suite mirror
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v suite="$suite" '$1 == suite && $2 == "main" { print $3; exit }')
  [ -n "$mirror" ] || { echo "this machine's package sources name no '$suite main' to take $arch packages from" >&2; return 1; }
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/etc"
  : >"$state/status"
  echo "deb [arch=$arch signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
    >"$state/etc/sources.list"
  foreign_apt=(apt-get -qq -oDir::State="$state" -oDir::State::Lists="$state/lists" -oDir::State::status="$state/status"
    -oDir::Cache="$state/cache" -oDir::Etc::SourceList="$state/etc/sources.list" -oDir::Etc::SourceParts=/dev/null
    -oDir::Etc::Preferences=/dev/null -oDir::Etc::PreferencesParts=/dev/null -oAPT::Architecture="$arch"
    -oAPT::Architectures="$arch" -oAPT::Install-Recommends=false -oDebug::NoLocking=1)
  [ "$(id -u)" != 0 ] || foreign_apt+=(-oAPT::Sandbox::User=root)
  apt_retry foreign_update "$state" || {
    echo "no complete $arch package index at present. If the messages above speak of a size or hash that does not" \
      "match, the archive is between two states: try again in an hour." >&2
    return 1
  }
}

# update exits 0 with a warning when an index could not be had, so the index itself is looked for.
foreign_update() { "${foreign_apt[@]}" update && ls "$1"/lists/*_Packages* >/dev/null 2>&1; }

# STATE_DIR INTO PACKAGE...: the packages and all they depend on, unpacked into one directory.
foreign_unpack() {
  local state=$1 into=$2 package
  shift 2
  foreign_download() { "${foreign_apt[@]}" -y --download-only install "$@" >/dev/null; }
  apt_retry foreign_download "$@" || { echo "could not download: $*" >&2; return 1; }
  for package in "$state"/cache/archives/*.deb; do dpkg-deb -x "$package" "$into"; done
}
