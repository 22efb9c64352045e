"""Configurations for web servers and systemd: the files in conf/, what `noid setup` makes of them, and checks."""
