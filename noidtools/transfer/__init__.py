"""What enters and leaves a minter as a file, and changes of many bindings at once."""
