"""What is left when a service ends: a static site of all names, a bundle of the whole minter, and its handing over."""
