"""Builds the Go and C programs that tests run; a missing toolchain skips the test by name."""
import os
import re
import shutil
import subprocess

from harness import CACHE, ROOT, skip


def go_build(directory, package, out):
    """`go build` of package in directory (relative to the project) into out, in the user's own environment."""
    go = shutil.which("go") or skip("no Go toolchain (go)")
    version = subprocess.run([go, "version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"go(\d+)\.(\d+)", version)
    if not found or (int(found[1]), int(found[2])) < (1, 21):
        skip(f"Go toolchain too old, 1.21 or newer is needed: {version.strip()}")
    build = subprocess.run([go, "build", "-o", out, package], cwd=os.path.join(ROOT, directory), text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert build.returncode == 0, f"go build {package}: {build.stdout}"
    return out


def c_build(source, out):
    """Compiles one C file of the project with libnats."""
    cc = shutil.which("cc") or skip("no C compiler (cc)")
    build = subprocess.run([cc, "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-o", out, os.path.join(ROOT, source),
                            "-lnats"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert build.returncode == 0, f"cc {source}: {build.stdout}"
    return out


def node_directory(source, out):
    """A copy of source in which Node finds AX's cached packages."""
    node = shutil.which("node") or skip("no Node (node)")
    modules = os.path.join(CACHE, "node", "node_modules")
    if not os.path.isdir(os.path.join(modules, "@nats-io", "jetstream")):
        skip(f"no @nats-io packages for Node in {modules} (scripts/setup test installs them)")
    shutil.copytree(os.path.join(ROOT, source), out, ignore=shutil.ignore_patterns("node_modules"))
    os.symlink(modules, os.path.join(out, "node_modules"))
    return node
