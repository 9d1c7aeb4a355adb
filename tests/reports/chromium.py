"""Opens pages in headless Chromium, runs scripts in them, and returns the document or the result."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next((path for path in map(shutil.which, NAMES) if path), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

NEEDS_CHROMIUM = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="no Chromium on PATH; install the package chromium to check the page in a browser",
    ),
]


def browse(page: Path, profile: Path, width: int = 1400, fragment: str = "") -> str:
    """Return the document as it is after the page's scripts have run, at `#fragment` of its address."""
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={profile}",
        f"--window-size={width},2000",
        "--dump-dom",
        page.as_uri() + (f"#{fragment}" if fragment else ""),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def ask(page: Path, script: str, width: int = 1400) -> object:
    """Run a script in a copy of the page without its content security policy; return the result.

    Chromium has no window narrower than 500 px; a frame has any width.
    """
    probe = f"""<script>
const answer = document.createElement('output');
answer.id = 'answer';
answer.textContent = JSON.stringify((() => {{ {script} }})());
document.body.append(answer);
</script></body>"""
    text = page.read_text(encoding="utf-8").replace("</body>", probe)
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    copy = page.with_name("copy.html")
    copy.write_text(text, encoding="utf-8")
    profile = page.with_name("profile")
    if width < 500:
        copy.write_text(
            text.replace(
                "document.body.append(answer)",
                "parent.postMessage(answer.outerHTML, '*')",
            ),
            encoding="utf-8",
        )
        frame = page.with_name("frame.html")
        frame.write_text(
            f'<body style="margin:0"><iframe src="{copy.as_uri()}" '
            f'style="width:{width}px;height:2000px;border:0"></iframe>'
            "<script>onmessage = e => document.body.append(e.data)</script></body>",
            encoding="utf-8",
        )
        document = unescape(browse(frame, profile, 800))
    else:
        document = browse(copy, profile, width)
    found = re.search(r'<output id="answer">(.*?)</output>', document, re.DOTALL)
    assert found, document[-2000:]
    return json.loads(unescape(found[1]))
