"""Implements the commands of `lab`; a module is imported only when its command runs."""
