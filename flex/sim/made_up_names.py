"""The vocabulary of made-up clusters: names of sites and files, and what clients say of
themselves.
"""

from __future__ import annotations

TREES = (
    "alder", "ash", "aspen", "beech", "birch", "cedar", "cherry", "elder", "elm", "fir", "hazel",
    "holly", "juniper", "larch", "lime", "maple", "oak", "pine", "rowan", "spruce", "walnut",
    "willow", "yew",
)  # fmt: skip
TRADES = (
    "bakery", "bikes", "books", "cinema", "clinic", "coffee", "dental", "design", "florist",
    "gallery", "garage", "hotel", "joinery", "legal", "museum", "music", "pottery", "press",
    "school", "tailor", "tours", "travel", "yoga",
)  # fmt: skip
FOLDERS = (
    "",
    "/assets",
    "/blog",
    "/css",
    "/images",
    "/images/2024",
    "/js",
    "/media",
    "/news",
    "/products",
    "/shop",
)
NOUNS = (
    "about",
    "banner",
    "catalog",
    "contact",
    "guide",
    "index",
    "logo",
    "menu",
    "page",
    "photo",
    "story",
    "team",
)
SMALL_KINDS = (".html", ".css", ".js", ".png", ".svg", ".webp", ".woff2", "/")
LARGE_KINDS = (".jpg", ".pdf", ".mp4", ".zip", ".webm")
NOT_THERE = (
    "/favicon.ico",
    "/wp-login.php",
    "/.env",
    "/robots.txt",
    "/old/index.html",
    "/xmlrpc.php",
    "/%7Euser/",
)

METHODS = ("GET", "HEAD", "POST")
AGENTS = (
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like "
        "Gecko) Chrome/130.0.0.0 Safari/537.36"
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
        "(KHTML, like Gecko) Mobile/15E148"
    ),
    "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, "
        "like Gecko) Version/18.0 Safari/605"
    ),
    (
        "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/130.0.0.0 Mobile"
    ),
    "Mozilla/5.0 (compatible; ExampleBot/2.1; +https://bot.example.org/about)",
    (
        "Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
        "Gecko) Mobile/15E148"
    ),
    "FeedReader/4.2 (42 subscribers; https://feeds.example.net/)",
    "curl/8.10.1",
    "python-requests/2.32.3",
    'Mozilla/5.0 (\\"quoted\\" agent) Gecko/20100101',
    "-",
)
REFERERS = ("-", "https://www.example.org/search?q=a+b", "https://news.example.net/", "-")
PROTOCOLS = ("HTTP/1.1", "HTTP/2.0")
# Blocks that are set aside for documentation (RFC 5737): no line names an address that somebody
# has.
ADDRESS_BLOCKS = ("192.0.2", "198.51.100", "203.0.113")
