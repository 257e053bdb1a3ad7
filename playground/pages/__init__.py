"""Recorded runs as files that need no server: one page, or a site of several.

Apart from `ui`, since the command line makes them too and must not need Gradio: of `ui` they take what needs
none, the board's own files and its operations.
"""
