"""What the tests of TLS and credentials are built on: a certificate authority, certificates and JWT credentials, all of them
made with the openssl program."""
import base64
import json
import os
import subprocess
import time

import harness
from harness import Ax, need

PREFIXES = {"operator": 14 << 3, "account": 0, "user": 20 << 3}  # nkeys: first letters O, A, U
SEED = 18 << 3  # S


def openssl(*args, stdin=None):
    done = subprocess.run([need("openssl"), *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, f"openssl {args}: {done.stderr.decode()}"
    return done.stdout


class Authority:
    """Certificates of one CA in directory: self.ca, and files() for each name."""

    def __init__(self, directory, name="ca"):
        self.directory = directory
        self.ca, self.ca_key = (os.path.join(directory, f"{name}{end}") for end in (".pem", "-key.pem"))
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-keyout", self.ca_key, "-out", self.ca)

    def files(self, name, host="127.0.0.1"):
        """(certificate, key) for a server on host, or a client."""
        cert, key, request, extra = (os.path.join(self.directory, name + end) for end in
                                     (".pem", "-key.pem", ".csr", ".ext"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", key, "-out", request)
        with open(extra, "w") as f:
            f.write(f"subjectAltName={'IP' if host[0].isdigit() else 'DNS'}:{host}\n"
                    "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
                    "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.ca_key, "-CAcreateserial", "-days", "2",
                "-extfile", extra, "-out", cert)
        return cert, key


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def encode(raw):
    return base64.b32encode(raw + crc16(raw).to_bytes(2, "little")).decode().rstrip("=")


class Identity:
    """An ed25519 key in the text forms of NATS."""

    def __init__(self, directory, kind, name):
        self.kind, self.name, prefix = kind, name, PREFIXES[kind]
        self.pem = os.path.join(directory, f"{name}.nk.pem")
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.pem)
        public = openssl("pkey", "-in", self.pem, "-pubout", "-outform", "DER")[-32:]
        private = openssl("pkey", "-in", self.pem, "-outform", "DER")[-32:]
        self.public = encode(bytes([prefix]) + public)
        self.seed = encode(bytes([SEED | prefix >> 5, (prefix & 31) << 3]) + private)

    def signature(self, data):
        path = self.pem + ".tbs"
        with open(path, "wb") as f:
            f.write(data)
        return openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.pem, "-in", path)

    def sign(self, subject, expires=None, **nats):
        """A JWT about another identity (or this one); expires: seconds from now."""
        def part(value):
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            return base64.urlsafe_b64encode(data).decode().rstrip("=")
        claims = {"jti": subject.public, "iat": int(time.time()), "iss": self.public, "name": subject.name,
                  "sub": subject.public, "nats": {**nats, "type": subject.kind, "version": 2}}
        if expires is not None:
            claims["exp"] = int(time.time() + expires)
        text = part({"typ": "JWT", "alg": "ed25519-nkey"}) + "." + part(claims)
        return text + "." + part(self.signature(text.encode()))


signers = {}  # of credentials files: (account, user)


def write_creds(path, expires=None):
    """The credentials file of jwt_server, written anew; expires: seconds from now. The JWT in it."""
    account, user = signers[path]
    jwt = account.sign(user, expires, subs=-1, data=-1, payload=-1)
    with open(path + ".new", "w") as f:
        f.write(f"-----BEGIN NATS USER JWT-----\n{jwt}\n"
                f"------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n{user.seed}\n"
                "------END USER NKEY SEED------\n")
    os.rename(path + ".new", path)
    return jwt


def jwt_server(directory):
    """(configuration of a server with an operator, path of a user's credentials, the same for nats.connect)"""
    operator, account, system, user = (Identity(directory, kind, name) for kind, name in (
        ("operator", "op"), ("account", "ax"), ("account", "sys"), ("user", "everything")))
    limits = {k: -1 for k in ("subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage",
                              "disk_storage", "streams", "consumer")} | {"wildcards": True}
    creds = os.path.join(directory, "user.creds")
    signers[creds] = account, user
    jwt = write_creds(creds)
    without = {**limits, "mem_storage": 0, "disk_storage": 0}
    return (f"operator: {operator.sign(operator)}\nsystem_account: {system.public}\nresolver: MEMORY\n"
            f"resolver_preload {{\n {account.public}: {operator.sign(account, limits=limits)}\n"
            f" {system.public}: {operator.sign(system, limits=without)}\n}}\n"), creds, {
                "user_jwt_cb": lambda: bytearray(jwt.encode()),
                "signature_cb": lambda nonce: base64.b64encode(user.signature(nonce.encode()))}


class Secure(Ax):
    """Ax on a server that is configured once the directory is there: prepare(ax) sets config, env, connect_options."""

    def __init__(self, prepare, **options):
        super().__init__(**options)
        prepare(self)


def run(test, prepare, seconds=110, **options):
    harness.run(test, seconds, make=Secure, prepare=prepare, **options)
