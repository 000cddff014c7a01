#!/bin/sh
# Installs headwater and what it needs, by the lock: install.sh CHECKOUT TARGET
# Extra packages of the target beyond the locked ones can't get in: every file is checked by its hash.
set -eu
source=$1
target=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The lock's own lines for uv, which builds and installs.
sed -n '/^uv==/,/[^\\]$/p' "$source/requirements.lock" > "$work/uv.lock"
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --require-hashes --requirement "$work/uv.lock"
uv=$work/tools/bin/uv

"$uv" build --quiet --wheel --build-constraints "$source/requirements.lock" --require-hashes --out-dir "$work/wheel" "$source"
for wheel in "$work"/wheel/*.whl; do
    printf 'headwater[%s] @ file://%s --hash=sha256:%s\n' "${EXTRAS:-avro,graph,consumer,web,mcp}" "$wheel" \
        "$(sha256sum "$wheel" | cut -d ' ' -f 1)" > "$work/headwater.txt"
done

python3 -m venv --without-pip "$target"
# The root file system is read-only later, so Python's byte code is written now.
"$uv" pip install --quiet --python "$target/bin/python" --link-mode copy --compile-bytecode \
    --require-hashes --constraints "$source/requirements.lock" --requirement "$work/headwater.txt"
