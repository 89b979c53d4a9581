#!/bin/sh
# A host: imports the site, starts again when it is killed, as systemd does, and serves what `current` points at.
#
#     ./host.sh NAME PORT
#
# Its content is in hosts/NAME/content, and hosts/NAME/current is the release that visitors see.
set -u
name=$1 port=$2
cd "$(dirname "$0")" || exit 1
mkdir -p "hosts/$name"

python3 -m http.server --bind 127.0.0.1 --directory "hosts/$name/current" "$port" &
server=$! subscriber=
trap 'kill $server $subscriber; wait; exit' INT TERM

while :; do
    callboard run subscriber "$name" --into "hosts/$name/content" --create &
    subscriber=$!
    wait $subscriber
    case $? in 2 | 5) break ;; esac # only another configuration or version can cure these
    sleep 1
done
kill $server
