# Silence for ack_wait: the attempt timed out and is repeated; a late ack of it still counts.
# ctest: timeout=150
from harness import run
from acks import silence

run(silence, 140)
