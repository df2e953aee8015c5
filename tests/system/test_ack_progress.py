# In-progress for longer than ack_wait keeps the attempt: it is neither repeated nor timed out.
# ctest: timeout=120
# ctest: sanitize
from harness import run
from acks import progress

run(progress)
