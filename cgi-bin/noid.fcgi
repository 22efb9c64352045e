#!/usr/bin/env python3
"""Minters by FastCGI for a process manager, such as mod_fcgid or spawn-fcgi, which hands us its socket as file 0.

Serves the minters in the folders beside this script, or in the folder $NOID_MINTERS: NAME at …/noidu_NAME.
"""

import os
import sys

try:
    from noidtools.cli import main
except ModuleNotFoundError:
    # Run from a checkout that was not installed: the package lies beside this folder.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    from noidtools.cli import main

sys.exit(main("noid.fcgi"))
