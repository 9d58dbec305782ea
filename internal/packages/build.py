"""Writes the Python wheel and the npm package of lockbench for one platform. Both contain the program and need nothing else.

    internal/packages/build.py VERSION PROGRAM GOOS GOARCH FOLDER
"""
import base64
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SUMMARY = "Benchmark and correctness suite for distributed locks"
TAGS = {  # the program is linked statically, so it runs with any C library
    ("linux", "amd64"): "manylinux2014_x86_64.musllinux_1_1_x86_64",
    ("linux", "arm64"): "manylinux2014_aarch64.musllinux_1_1_aarch64",
    ("darwin", "amd64"): "macosx_12_0_x86_64",
    ("darwin", "arm64"): "macosx_12_0_arm64",
}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write_wheel(folder, version, tag, program, readme, license_text):
    info = f"lockbench-{version}.dist-info"
    files = {
        "lockbench/__init__.py": read(f"{HERE}/__init__.py"),
        "lockbench/__main__.py": read(f"{HERE}/__main__.py"),
        "lockbench/bin/lockbench": program,
        f"{info}/licenses/LICENSE": license_text,
        f"{info}/METADATA": f"Metadata-Version: 2.4\nName: lockbench\nVersion: {version}\nSummary: {SUMMARY}\nLicense-Expression: MIT\n"
        "License-File: LICENSE\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n".encode() + readme,
        f"{info}/WHEEL": "".join(
            ["Wheel-Version: 1.0\nGenerator: lockbench\nRoot-Is-Purelib: false\n"] + [f"Tag: py3-none-{one}\n" for one in tag.split(".")]
        ).encode(),
        f"{info}/entry_points.txt": b"[console_scripts]\nlockbench = lockbench:main\n",
    }
    rows = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content)}\n")
    files[f"{info}/RECORD"] = ("".join(rows) + f"{info}/RECORD,,\n").encode()
    path = f"{folder}/lockbench-{version}-py3-none-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # the entry has a fixed date, so that equal contents give equal files
            entry.external_attr = (0o100755 if "/bin/" in name else 0o100644) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return path


def write_npm(folder, version, goos, goarch, program, readme, license_text):
    package = {
        "name": "lockbench",
        "version": version,
        "description": SUMMARY,
        "license": "MIT",
        "bin": {"lockbench": "bin/lockbench"},
        "os": [goos],
        "cpu": [{"amd64": "x64"}.get(goarch, goarch)],
    }
    files = {
        "package.json": (json.dumps(package, indent=2) + "\n").encode(),
        "README.md": readme,
        "LICENSE": license_text,
        "bin/lockbench": program,
    }
    path = f"{folder}/lockbench-{version}.tgz"
    with gzip.GzipFile(path, "wb", mtime=0) as whole, tarfile.open(fileobj=whole, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(content), 0o755 if name.startswith("bin/") else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return path


def main(version, program, goos, goarch, folder):
    if (goos, goarch) not in TAGS:
        sys.exit(f"no package for {goos}/{goarch}; known: {', '.join(map('/'.join, TAGS))}")
    content = read(program)
    readme, license_text = read(f"{HERE}/README.md"), read(f"{HERE}/../../LICENSE")
    os.makedirs(folder, exist_ok=True)
    print(write_wheel(folder, version, TAGS[goos, goarch], content, readme, license_text))
    print(write_npm(folder, version, goos, goarch, content, readme, license_text))


main(*sys.argv[1:])
