"""Holds the lock on a file for a second: script FILE."""

import fcntl
import os
import sys
import time

file = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(1)
