# The one place where versions of what AX is built and tested with are pinned. Sourced by the other
# scripts.
NATS_SERVER_VERSION=2.15.1   # built when no suitable one is there
NATS_SERVER_MIN=2.14.3       # bus/connect.h says the same
NATS_CLI_VERSION=0.5.1
NATS_CLI_MIN=0.4.0
GO_VERSION=1.26.8            # fetched as a Go module when the Go at hand is older than GO_MIN and cannot fetch its own
GO_MIN=1.26.0                # what the go.mod of the two above asks for
PYTHON_PACKAGES="nats-py==2.16.0 compose-spec==0.2.1 clang-format==19.1.7"
NODE_PACKAGES="@nats-io/transport-node@3.3.0 @nats-io/jetstream@3.3.0 @nats-io/nats-core@3.3.0 @nats-io/nkeys@2.0.3 @nats-io/nuid@2.0.3"
