"""``python -m elver``: the command line, where the command ``elver`` is not on the path."""

from elver.cli import main

if __name__ == "__main__":
    main()
