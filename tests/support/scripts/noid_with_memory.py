"""Runs the noid command, and prints its exit status and the most memory that it allocated."""

import sys
import tracemalloc

from noidtools.cli.noid import main

tracemalloc.start(1)
status = main(["noid", *sys.argv[1:]])
print(status, tracemalloc.get_traced_memory()[1])
