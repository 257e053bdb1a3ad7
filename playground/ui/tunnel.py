"""The public link of `--share`: Gradio's tunnel to this server."""

from __future__ import annotations

import contextlib
import io
import logging
import os

import gradio as gr
from gradio import networking

log = logging.getLogger(__name__)


def open_tunnel(page: gr.Blocks) -> str:
    """Make a public link to `page`, which is launched. What to tell about it, in a line.

    Opened by us and not by `launch(share=True)`, which would serve another page and, where there is no way
    out, speak of files to be fetched by hand.
    """
    if os.environ.get("SPACE_ID"):
        return "No public link is made: a Space has its own."
    here = page.local_url
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # the tunnel's own log
            address = networking.setup_tunnel(
                page.server_name, page.server_port, page.share_token, None, None
            )
    except Exception as error:
        log.debug("no tunnel", exc_info=True)
        why = " ".join(str(error.__cause__ or error).split())[:120] or type(error).__name__
        return f"No public link could be made, since Gradio's tunnel is out of reach ({why}); {here} works."
    return f"Public link, for a week at most: {address.replace('http://', 'https://', 1)}"
