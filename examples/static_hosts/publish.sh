#!/bin/sh
# Ships every change of the folder `public` within a second, and what has changed while nobody watched.
cd "$(dirname "$0")" || exit 1
mkdir -p public/releases
exec callboard run publisher --from public --watch 1 --catch-up --create
