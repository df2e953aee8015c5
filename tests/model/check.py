# Runs spin on one model of this directory and judges what it says.
#
#   check.py MODEL CASE     one line of the model's head: " * holds: CASE …" or " * fails: CASE "WHAT" …"
#   check.py MODEL          all of them;  check.py: all models.  --long: with the bounds of the lines " * long: …", too
#
# "holds" must be searched to its end without a violation. "fails" breaks one rule (the variant of that name) and must
# end in the violation WHAT and in no other. Exit code 77: spin is not installed.
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(os.environ.get("AX_MODEL_DIR") or os.getcwd(), "model")


def cases(model):
    """[(kind, name, what, settings)] of a model's head."""
    found = []
    for line in open(os.path.join(HERE, model + ".pml"), encoding="utf-8"):
        if m := re.match(r' \* (holds|long|fails): ([a-z0-9-]+)(?: "([^"]+)")?((?: [A-Z_]+=\d+)*)\s*$', line):
            found.append((m[1], m[2], m[3], dict(s.split("=") for s in m[4].split())))
        elif re.match(r" \* (holds|long|fails):", line):
            sys.exit(f"{model}.pml: cannot read: {line.strip()}")
    if not any(kind == "holds" for kind, *_ in found):
        sys.exit(f"{model}.pml: no line says what holds")
    return found


def variant(model, name):
    """The number that switches a broken variant on."""
    text = open(os.path.join(HERE, model + ".pml"), encoding="utf-8").read()
    m = re.search(rf"^#define {name.replace('-', '_')} \(V == (\d+)", text, re.M)
    return m[1] if m else sys.exit(f"{model}.pml: no variant {name}")


def build(model, optimise):
    """The verifier of a model, made anew when its sources have changed. Several tests may want it at once."""
    sources = [os.path.join(HERE, model + ".pml"), *sorted(glob.glob(os.path.join(HERE, "*.inc")))]
    key = hashlib.sha256(b"".join(open(f, "rb").read() for f in sources)).hexdigest()
    directory = os.path.join(WORK, model + optimise)
    pan = os.path.join(directory, "pan")
    stamp = os.path.join(directory, "stamp")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(pan) and os.path.exists(stamp) and open(stamp).read() == key:
            return pan
        run(["spin", "-a", sources[0]], directory)
        run(["cc", optimise, "-w", "-DSAFETY", "-DMEMLIM=8000", "-o", "pan", "pan.c"], directory)
        with open(stamp, "w") as f:
            f.write(key)
    return pan


def run(command, directory):
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if done.returncode != 0 or "rror:" in done.stdout:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def trail(pan, directory, env):
    """The steps that led there."""
    [file] = glob.glob(os.path.join(directory, "*.trail")) or [None]
    if file is None:
        return ""
    text = subprocess.run([pan, "-r", file], cwd=directory, env=env, capture_output=True, text=True, errors="replace").stdout
    text = text.split("\nspin: trail ends")[0].split("\npan:")[0]
    steps = [line for line in text.splitlines() if re.match(r"[A-Za-z][^;{}=]*$", line)]
    return "\n".join("    " + line for line in steps if not line.startswith(("pan", "spin", "violated")))


def check(model, case, optimise="-O0"):
    kind, name, what, settings = case
    pan = build(model, optimise)
    directory = os.path.join(os.path.dirname(pan), name)
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    env = {**os.environ, **settings, "VARIANT": variant(model, name) if kind == "fails" else "0"}
    started = time.monotonic()
    out = subprocess.run([pan, "-m3000000" if optimise == "-O2" else "-m20000"], cwd=directory, env=env, capture_output=True, text=True).stdout
    seconds = time.monotonic() - started
    violated = re.search(r"^violated: (.*)$", out, re.M)
    errors = re.search(r"errors: (\d+)", out)
    states = re.search(r"^\s*(\S+) states, stored", out, re.M)
    depth = re.search(r"depth reached (\d+)", out)
    if not errors or not states or not depth or "Search not completed" in out and errors[1] == "0" or "too small" in out:
        print(out[-3000:])
        print(f"{model}.{name}: the search did not end")
        return False
    said = violated[1] if violated else "another violation" if errors[1] != "0" else "no violation"
    bounds = " ".join(f"{k}={v}" for k, v in settings.items())
    print(f"{model}.{name}: {said}, {int(float(states[1]))} states, depth {depth[1]}, {seconds:.1f} s {bounds}".rstrip(), flush=True)
    if kind != "fails" and errors[1] == "0":
        return True
    steps = trail(pan, directory, env)
    if kind == "fails" and violated and said == what:
        if "-v" in sys.argv:
            print(steps)
        return True
    print(steps or out[-3000:])
    print(f"{model}.{name}: expected {what or 'no violation'}")
    return False


def main():
    long = "--long" in sys.argv
    args = [a for a in sys.argv[1:] if not a.startswith("-")]
    if not shutil.which("spin"):
        print("skipped: spin is not installed (scripts/setup test installs it)")
        sys.exit(77)
    models = args[:1] or sorted(os.path.basename(f)[:-4] for f in glob.glob(os.path.join(HERE, "*.pml")))
    good = True
    for model in models:
        chosen = [c for c in cases(model) if (c[1] == args[1] if len(args) > 1 else long or c[0] != "long")]
        if not chosen:
            sys.exit(f"{model}.pml: no case {args[1]}")
        for case in chosen:
            good = check(model, case, "-O2" if long else "-O0") and good
    sys.exit(0 if good else 1)


main()
