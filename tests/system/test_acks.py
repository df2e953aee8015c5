# Ack, nak, nak with a delay, term with a reason: each ends as docs/design/attempts.md says.
# ctest: timeout=120
# ctest: sanitize
from harness import run
from acks import acks

run(acks)
