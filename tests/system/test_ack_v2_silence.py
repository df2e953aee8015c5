# The server's longer ack subjects: silence, the time-out limit and a late ack.
# ctest: timeout=150
from harness import run
from acks import silence

run(silence, 140, ack_v2=True)
