#!/bin/sh
# Makes the secrets that compose.yaml names, where they are missing. They are never written anywhere else.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets manifests

new() {
  [ -n "$2" ] || { echo "secrets/$1 could not be made" >&2; exit 1; }
  [ -s "secrets/$1" ] || printf '%s' "$2" > "secrets/$1"
  # The containers' user is another one; the folder keeps the users of this machine out.
  chmod 644 "secrets/$1"
}

new postgres_password "$(openssl rand -hex 24)"
new encryption_key "$(openssl rand -base64 32)"
new signing_key "$(openssl genpkey -algorithm ed25519)"
new grafana_password "$(openssl rand -hex 12)"
new database_url "postgres://tokenmarket:$(cat secrets/postgres_password)@postgres:5432/tokenmarket"
new valkey_config "requirepass $(openssl rand -hex 24)"
new redis_url "redis://:$(sed 's/^requirepass //' secrets/valkey_config)@valkey:6379"
chmod 700 secrets
chmod 755 manifests
echo "secrets are in $(pwd)/secrets; put manifests into $(pwd)/manifests"
