#!/bin/sh
# Installs Whylet from a release, and starts a node:
#
#   sh install.sh                      this release, from the network
#   sh install.sh --version v1.2.3     another one
#   sh install.sh --offline DIR        from a folder with a release's files
#   sh install.sh --no-start           the programs only
#   sh install.sh --unsigned …         though this script has no key, so that nobody knows who made the files
#   sh install.sh uninstall            the node with all its data, and the programs
#   sh install.sh uninstall --data-dir DIR --name SERVICE    one that has another folder or service
#
# What is fetched is checked against the list of checksums, and that against the key in
# this script. While nodes with other folders are on the machine, uninstall changes nothing.
# WHYLET_URL is where releases are, PREFIX (/usr/local) where programs go.
set -eu

# Both are set in the copy that is part of a release.
VERSION=
KEY=''

url=${WHYLET_URL:-https://whylet.dev/releases}
prefix=${PREFIX:-/usr/local}
offline='' start=yes action=install unsigned=no
root=${WHYLET_ROOT:-} # tests stand in for /etc, /proc, /run and /var with it
data=$root/var/lib/whylet name=whylet

say() { printf '%s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}
need() { command -v "$1" >/dev/null 2>&1 || die "$1 is needed${2:+: $2}"; }

options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --version) VERSION=${2:?--version needs one}; shift ;;
      --offline) offline=${2:?--offline needs a folder}; shift ;;
      --no-start) start=no ;;
      --unsigned) unsigned=yes ;;
      --data-dir) data=${2:?--data-dir needs a folder}; shift ;;
      --name) name=${2:?--name needs the name of a service}; shift ;;
      uninstall) action=uninstall ;;
      -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
      *) say "error: $1 is not known; --help lists what is"; exit 2 ;;
    esac
    shift
  done
}

platform() {
  [ "$(uname -s)" = Linux ] || die "a node runs on Linux; on $(uname -s) there is kubectl why alone: the archive kubectl-why_…"
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) die "there is no build for $(uname -m)" ;;
  esac
}

# fetch NAME puts a file of the release into the work folder.
fetch() {
  if [ -n "$offline" ]; then
    cp "$offline/$1" "$work/$1" || die "$1 is not in $offline"
  elif command -v curl >/dev/null 2>&1; then
    curl --proto '=https' --tlsv1.2 -fsSL --retry 3 -o "$work/$1" "$url/$VERSION/$1" || die "$url/$VERSION/$1 cannot be fetched"
  else
    need wget "or curl, to fetch the release"
    wget -q -O "$work/$1" "$url/$VERSION/$1" || die "$url/$VERSION/$1 cannot be fetched"
  fi
}

# signed checks that the list of checksums is from whom this script is from.
signed() {
  if [ -z "$KEY" ]; then
    [ "$unsigned" = yes ] || die "this script has no key to check who made the files; a release's own install.sh has one. To install them nevertheless: --unsigned"
    say "note: who made these files is not checked (--unsigned)"
    return
  fi
  need openssl "to check the signature (apt-get install openssl)"
  fetch SHA256SUMS.sig
  printf '%s\n' "$KEY" >"$work/key.pem"
  base64 -d <"$work/SHA256SUMS.sig" >"$work/signature" 2>/dev/null || die "the signature is damaged"
  openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/signature" "$work/SHA256SUMS" >/dev/null 2>&1 ||
    die "the signature does not fit: these files are not from whom this script is from; nothing was installed"
}

# checked NAME holds a file to the list.
checked() {
  want=$(awk -v name="$1" '$2 == name {print $1}' "$work/SHA256SUMS")
  [ -n "$want" ] || die "$1 is not in the release's list"
  have=$(sha256sum "$work/$1" | cut -d' ' -f1)
  [ "$have" = "$want" ] || die "$1 is damaged: its checksum is $have, and should be $want; nothing was installed"
}

install_files() {
  mkdir -p "$prefix/bin"
  for program in whylet kubectl-why; do # whole or not at all, also while the old one runs
    cp "$work/$program" "$prefix/bin/.$program.new"
    chmod 0755 "$prefix/bin/.$program.new"
    mv -f "$prefix/bin/.$program.new" "$prefix/bin/$program"
  done
  ln -sfn kubectl-why "$prefix/bin/kubectl_complete-why"
  command -v kubectl >/dev/null 2>&1 || ln -sfn whylet "$prefix/bin/kubectl"
}

install_whylet() {
  platform
  need tar
  need sha256sum
  if [ -n "$offline" ] && [ -z "$VERSION" ]; then
    found=$(cd "$offline" && ls whylet_*_linux_"$arch".tar.gz 2>/dev/null | head -n 1)
    [ -n "$found" ] || die "no release for linux/$arch is in $offline"
    VERSION=v$(printf '%s' "$found" | sed 's/^whylet_//; s/_linux_.*//')
  fi
  case $url in https://*) ;; *) [ -n "$offline" ] || die "$url: a release is fetched by https:// only; --offline takes it from a folder" ;; esac
  [ -n "$VERSION" ] || die "which version? --version v1.2.3; a release's own install.sh knows"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  archive=whylet_${VERSION#v}_linux_$arch.tar.gz
  say "fetching Whylet $VERSION for linux/$arch"
  fetch SHA256SUMS
  signed
  fetch "$archive"
  checked "$archive"
  tar -xzf "$work/$archive" -C "$work"
  install_files
  say "installed $prefix/bin/whylet $VERSION"
  if [ "$start" = no ]; then
    say "start it: whylet up --detach; at every boot: whylet service install --now"
  elif [ -d /run/systemd/system ]; then
    "$prefix/bin/whylet" service install --now
  else
    "$prefix/bin/whylet" up --detach
  fi
}

# nodes lists the data folders of all nodes: of services, of programs that run, and of
# containers that outlive them.
nodes() {
  for unit in "$root"/etc/systemd/system/*.service; do
    [ ! -f "$unit" ] || sed -n 's/^ExecStart="\{0,1\}[^ ]*whylet"\{0,1\} \(up\|node\) --data-dir "\{0,1\}\([^ "]*\).*/\2/p' "$unit"
  done
  for process in "$root"/proc/[0-9]*; do
    { tr '\0' ' ' <"$process/cmdline" && echo; } 2>/dev/null | sed -n \
      -e 's/^[^ ]*whylet \(up\|node\) .*--data-dir[ =]\([^ ]*\).*/\2/p;t' \
      -e 's/^[^ ]*whylet \(up\|node\) .*/\/var\/lib\/whylet/p;t' \
      -e 's/^[^ ]*containerd-shim[^ ]* .*-address \([^ ]*\)\/run\/containerd\.sock.*/\1/p;t' \
      -e 's/^[^ ]*containerd-shim[^ ]* .*-address \([^ ]*\/run\/whylet-[0-9a-f]*\)\/containerd\.sock.*/\1/p'
  done || true
  for run in "$root"/run/whylet-*; do
    [ ! -d "$run" ] || printf '%s\n' "$run"
  done
}

# others lists the nodes that this uninstall is not about.
others() {
  run=$root/run/whylet-$(printf %s "$data" | sha256sum | cut -c1-8)
  nodes | sort -u | while IFS= read -r node; do
    case $node in "$data" | "$run") ;; *) printf '%s\n' "$node" ;; esac
  done
}

uninstall_whylet() {
  whylet=$prefix/bin/whylet
  data=$(readlink -f "$data" || printf %s "$data")
  left=$(others)
  if [ -n "$left" ]; then
    say "error: other nodes are on this machine, which need the programs; nothing was changed:"
    say "$left"
    die "remove each first: whylet down --purge --data-dir DIR, and whylet service remove --name SERVICE if it has one"
  fi
  if [ -x "$whylet" ]; then
    [ ! -d "$root/run/systemd/system" ] || "$whylet" service remove --name "$name"
    [ ! -d "$data" ] || "$whylet" down --purge --data-dir "$data"
  fi
  [ "$(readlink "$prefix/bin/kubectl" || true)" != whylet ] || rm -f "$prefix/bin/kubectl"
  rm -f "$whylet" "$prefix/bin/kubectl-why" "$prefix/bin/kubectl_complete-why"
  say "Whylet is removed"
}

options "$@"
[ "$(id -u)" = 0 ] || [ -w "$prefix/bin" ] || die "root is needed: sudo sh install.sh"
"${action}_whylet"
