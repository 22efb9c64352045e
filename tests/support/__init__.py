"""What the tests share: the noid command in this process and as a process, a clock, WSGI clients, real servers."""
