#!/bin/sh
# Installs one version of a library, builds its adapter, and prints the folder of both:
#
#     impls/libraries/install.sh java/redisson 3.11.0
#
# The packages come from the registries that mvn, go, cargo, pip and npm are configured to use.
set -eu
library=$1 version=$2
here=$(cd "$(dirname "$0")" && pwd)
workers=$here/../worker
source=$here/$library
folder=${LOCKBENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}}/lockbench/libraries/$library/$version

# field prints the value of a top-level field of library.yaml.
field() { sed -n "s/^$1: *//p" "$source/library.yaml" | tr -d '"'; }

# also prints the packages that the version needs in addition to the library, as name:version.
also() {
	field with | tr -d '[],"' | tr ' ' '\n' | sed '/^$/d'
	sed -n "/^ *- version: $version\$/,/^ *- version:/s/^ *with: *//p" "$source/library.yaml" | tr -d '[],"' | tr ' ' '\n' | sed '/^$/d'
}

# maven writes a project that depends on the library, copies all jars, and compiles the adapter.
maven() {
	{
		echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
		echo '<groupId>lockbench</groupId><artifactId>library</artifactId><version>1</version><dependencies>'
		{ echo "$(field package):$version"; also; } | sed 's|\(.*\):\(.*\):\(.*\)|<dependency><groupId>\1</groupId><artifactId>\2</artifactId><version>\3</version></dependency>|'
		echo '</dependencies></project>'
	} > pom.xml
	mvn -B -q dependency:copy-dependencies -DoutputDirectory=lib
	javac -nowarn -d classes -cp 'lib/*' "$workers"/java/src/main/java/lockbench/*.java "$source"/*.java
}

# go_module writes a module that requires the library and builds the adapter.
go_module() {
	cp "$source"/*.go .
	printf 'module adapter\n\ngo 1.21\n\nrequire lockbench/impls/worker/go v0.0.0\n\nreplace lockbench/impls/worker/go => %s\n' "$workers/go" > go.mod
	go get "$(field package)@v${version#v}" $(also | sed 's/:/@/')
	go build -mod=mod -o worker ./*.go
}

# crate writes a package that depends on exactly this version and builds the adapter. Libraries share their builds.
crate() {
	mkdir -p src && cp "$source"/*.rs src
	{
		printf '[package]\nname = "adapter"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\n'
		printf 'lockbench-worker = { path = "%s" }\n%s = "=%s"\n' "$workers/rust" "$(field package)" "$version"
		also | sed 's/\(.*\):\(.*\)/\1 = "\2"/'
	} > Cargo.toml
	cargo build --quiet --release --target-dir ../target
	cp ../target/release/adapter worker
}

# pypi installs the library and its dependencies into the folder of the adapter. Python imports them from there.
pypi() {
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --upgrade --target . \
		"$(field package)==$version" $(also | sed 's/:/==/')
}

# npm_package installs the library and only those additional packages that library.yaml names.
npm_package() {
	npm install --silent --no-audit --no-fund --no-package-lock --no-save --ignore-scripts --legacy-peer-deps --prefix . \
		"$(field package)@$version" $(also | sed 's/\(.*\):/\1@/')
}

if [ ! -f "$folder/installed" ]; then
	mkdir -p "$folder" && cd "$folder"
	case $(field registry) in
	maven) maven ;;
	go) go_module ;;
	crates) crate ;;
	pypi) pypi ;;
	npm) npm_package ;;
	*) echo "install $library: unknown registry $(field registry)" >&2 && exit 1 ;;
	esac >&2
	touch installed
fi
case $(field language) in # copy the adapter again, because it may have changed since the installation
python) cp "$workers/python/lockbench_worker.py" "$source"/*.py "$folder" ;;
node) cp "$workers/node/lockbench-worker.mjs" "$source"/*.mjs "$folder" ;;
esac
echo "$folder"
