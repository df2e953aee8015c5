# The server's longer ack subjects: in-progress keeps an attempt alive.
# ctest: timeout=120
from harness import run
from acks import progress

run(progress, ack_v2=True)
