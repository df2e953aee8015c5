# ax up uses no store that others could have prepared: one that they can write, that lies in a directory that everybody
# can write, or that has links in it. It names the file, and what a link leads to stays as it is.
import os

from harness import run
from up import Up

PLANTED = ("ax.lock", "nats-server.conf", "token", "token.new", "url", "url.new", "jetstream", "nats-server_1.ports")


async def test(ax):
    def path(*names):
        return os.path.join(ax.directory, *names)

    async def fails(name, store, *words, args=()):
        code, said = await Up(ax, name, "--port", "0", "--store", store, *args).refused()
        assert code == 1 and len(said) == 1, (name, said)
        assert not [w for w in words if w not in said[0]], (name, words, said)

    def make(name, mode=0o700):
        os.makedirs(path(name), exist_ok=True)
        os.chmod(path(name), mode)
        return path(name)

    with open(path("victim"), "w") as f:
        f.write("mine\n")
    os.chmod(path("victim"), 0o640)
    for number, name in enumerate(PLANTED):
        store = make(f"planted-{number}")
        os.symlink(path("victim"), os.path.join(store, name))
        await fails(f"link-{number}", store, os.path.join(store, name), "symbolic link", args=("--token",))
        os.unlink(os.path.join(store, name))
        os.symlink(path("made"), os.path.join(store, name))
        await fails(f"dangling-{number}", store, os.path.join(store, name), "symbolic link")
    store = make("hard")
    os.link(path("victim"), os.path.join(store, "nats-server.conf"))
    await fails("hard-link", store, os.path.join(store, "nats-server.conf"), "hard link")
    store = make("pipe")
    os.mkfifo(os.path.join(store, "token"))
    await fails("fifo", store, os.path.join(store, "token"), "neither a file nor a directory")
    with open(path("victim")) as f:
        assert f.read() == "mine\n", "the target of a link was written"
    assert os.stat(path("victim")).st_mode & 0o777 == 0o640, "the target's mode was changed"
    assert not os.path.exists(path("made")), "a link was followed to make a file"

    for mode in (0o777, 0o770, 0o707, 0o1777):
        await fails(f"mode-{mode:o}", make(f"wide-{mode:o}", mode), path(f"wide-{mode:o}"), "written by others")
        assert not os.listdir(path(f"wide-{mode:o}")), "something was written"
    os.makedirs(make("inner") + "/jetstream")
    os.chmod(path("inner", "jetstream"), 0o777)
    await fails("wide-inner", path("inner"), path("inner", "jetstream"), "written by others")
    deep = path("deep", "jetstream", "$G", "streams", "AX_HIGH", "msgs")
    os.makedirs(deep, mode=0o700)
    os.chmod(path("deep"), 0o700)
    os.symlink(path("victim"), os.path.join(deep, "1.blk"))
    await fails("link-deep", path("deep"), os.path.join(deep, "1.blk"), "symbolic link")
    os.unlink(os.path.join(deep, "1.blk"))
    os.chmod(deep, 0o777)
    await fails("wide-deep", path("deep"), deep, "written by others")
    os.chmod(deep, 0o700)
    if os.geteuid() == 0:
        os.chown(deep, 65534, 65534)
        await fails("owner-deep", path("deep"), deep, "another user")
    make("everybodys", 0o777)
    await fails("parent", path("everybodys", "store"), path("everybodys"), "everybody")
    if os.geteuid() == 0:
        os.chown(make("foreign"), 65534, 65534)
        await fails("owner", path("foreign"), path("foreign"), "another user")
        os.symlink(make("own"), path("others-link"))
        os.lchown(path("others-link"), 65534, 65534)
        await fails("others-link", path("others-link"), path("others-link"), "link of another user")

    # What is right: an existing directory that others can read, a link of this user, a sticky directory above it.
    make("everybodys", 0o1777)
    os.symlink(make("readable", 0o755), path("link"))
    for number, store in enumerate((path("readable"), path("link"), path("everybodys", "new", "store"))):
        up = await Up(ax, f"right-{number}", "--port", "0", "--store", store).ready()
        await up.stop()
    assert os.stat(path("everybodys", "new", "store")).st_mode & 0o777 == 0o700


run(test, ingress=0, dispatch=0)
