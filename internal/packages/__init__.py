"""Distributed lock benchmark and correctness suite. This package contains the program lockbench."""
import os
import sys


def main():
    """Replaces this process by lockbench, so that signals and the exit code are those of lockbench."""
    program = os.path.join(os.path.dirname(__file__), "bin", "lockbench")
    os.execv(program, [program, *sys.argv[1:]])
