"""Takes over minters of the original noid, a Perl program, and of Noid4Php."""
