#!/bin/sh
# Puts the image's own commands beside `headwater`: commands.sh SCRIPTS TARGET
set -eu
scripts=$1
target=$2
for name in entrypoint drain make_topics; do
    command=$target/bin/$(echo "$name" | tr _ -)
    { echo "#!$target/bin/python"; cat "$scripts/$name.py"; } > "$command"
    chmod 0755 "$command"
done
cp "$scripts/consume.py" "$target/bin/consume.py"
