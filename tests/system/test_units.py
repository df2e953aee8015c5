# The units: what they start is installed and knows its flags, a crash leaves no core file, secrets come as credentials
# and stand in no unit, and systemd understands every line.
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import ROOT, own

DEPLOY = os.path.join(ROOT, "deploy")
SECRET = re.compile(r"pass(word)?=|token=|creds?=|nats://[^\s…]*@", re.I)
failures = []


def check(right, unit, what):
    if not right:
        failures.append(f"{unit}: {what}")


def parse(path):
    """{key: [values]} of all sections."""
    found = {}
    with open(path) as f:
        for line in f:
            line = line.strip()
            if line and line[0] not in "#;[":
                key, _, value = line.partition("=")
                found.setdefault(key, []).append(value)
    return found


def check_command(name, unit):
    program, *args = unit["ExecStart"][0].split()
    check(os.access(own(program), os.X_OK), name, f"{program} is none of the programs")
    words = [program] if program != "ax" else [program, args[0]]
    text = subprocess.run([own(words[0]), *words[1:], "--help"], capture_output=True, text=True, check=False).stdout
    for flag in (a for a in args if a.startswith("--")):
        check(flag in text, name, f"{words} knows no {flag}")


def check_keys(name, unit):
    short = name.partition(".")[0].replace("@", "-%i")
    for key, value in {"LimitCORE": "0", "KillMode": "mixed", "NoNewPrivileges": "yes", "DynamicUser": "yes", "UMask": "0077",
                       "ProtectSystem": "strict", "PrivateTmp": "yes", "CapabilityBoundingSet": ""}.items():
        check(unit.get(key) == [value], name, f"{key} is {unit.get(key)}, wanted {value!r}")
    # A name without a directory: systemd looks in its credential stores, and a missing one does not stop the start.
    wanted = [f"{credential}:{short}.{credential.partition('.')[2]}" for credential in ("ax.creds", "ax.password", "ax.key")]
    check(unit.get("LoadCredential") == wanted, name, f"LoadCredential is {unit.get('LoadCredential')}, wanted {wanted}")
    for credential in ("ax.creds", "ax.password", "ax.key"):
        with open(os.path.join(ROOT, "src/base/options.c")) as f:
            check(f'"{credential}"' in f.read(), name, f"no program looks for {credential}")
    files = unit.get("EnvironmentFile", [])
    check(files and all(f.lstrip("-").startswith("/etc/ax/") for f in files), name, f"EnvironmentFile is {files}")


def check_secrets(name, path):
    with open(path) as f:
        for number, line in enumerate(f, 1):
            if not line.startswith(("#", "LoadCredential=")):
                check(not SECRET.search(line), name, f"line {number} looks like a secret: {line.strip()}")


def check_systemd(units):
    """systemd's own opinion, where it is installed."""
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        print("systemd-analyze not found: syntax not checked")
        return
    with tempfile.TemporaryDirectory(prefix="ax-units-") as directory:
        for path in units:
            with open(path) as f:
                text = re.sub(r"^ExecStart=(\S+)", lambda m: f"ExecStart={own(m[1])}", f.read(), flags=re.M)
            with open(os.path.join(directory, os.path.basename(path)), "w") as f:
                f.write(text)
        for path in units:
            unit = os.path.basename(path).replace("@.", "@email.")
            done = subprocess.run([analyze, "verify", "--man=no", "--recursive-errors=no", unit], capture_output=True,
                                  text=True, env={**os.environ, "SYSTEMD_UNIT_PATH": directory + ":"}, check=False)
            said = [line for line in done.stderr.splitlines() if directory in line or unit in line]
            check(not said, unit, f"systemd-analyze: {said}")


def check_installed(units):
    """CMake installs every one of them."""
    with open(os.path.join(ROOT, "CMakeLists.txt")) as f:
        text = f.read()
    check("deploy/*.service" in text and "lib/systemd/system" in text, "CMakeLists.txt", "does not install the units")
    with open(os.path.join(ROOT, "docs", "operating.md")) as f:
        docs = f.read()
    for path in units:
        check(f"deploy/{os.path.basename(path)}" in docs, os.path.basename(path), "is not in docs/operating.md")


def main():
    units = sorted(glob.glob(os.path.join(DEPLOY, "*.service")))
    names = [os.path.basename(u) for u in units]
    assert names == ["ax-dispatch.service", "ax-ingress.service", "ax-work@.service"], names
    for name, path in zip(names, units):
        unit = parse(path)
        check_command(name, unit)
        check_keys(name, unit)
        check_secrets(name, path)
    check_systemd(units)
    check_installed(units)
    print("\n".join(failures) or f"{len(units)} units")
    sys.exit(1 if failures else 0)


main()
