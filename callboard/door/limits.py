"""The bounds of input, and the reason for each."""

NAME_CHARS_MAX = 100
"""Name of a publisher or subscriber: it appears in table rows, log lines and URLs."""

SITES_MAX = 9
"""Names in that of a subscriber behind relays: together they still fit a message."""

ID_CHARS_MAX = 200
"""A request id, user, author or metadata key: they are headers and columns, and shown in full."""

TEXT_CHARS_MAX = 10_000
"""A reason or a metadata value: several times the usual length of prose."""

PLACE_CHARS_MAX = 4096
"""A path or URL given as a place: the kernel's limit for one path."""

NAMES_MAX = 10_000
"""Subscribers or publishers named at once: as many as a board keeps in memory."""

FOLLOWS_MAX = 1000
"""Publishers that a subscriber follows by name: it repeats them in every announcement."""

PATHS_MAX = 100_000
"""Paths of one request. No log accepts a record with more; with long paths, the log itself rejects fewer."""

METADATA_MAX = 1000
"""Pairs of metadata: they travel in the package's record, beside the content."""

PATTERNS_MAX = 1000
"""Patterns of excluded names: each name of a source is compared with all of them."""

PATTERN_CHARS_MAX = 200
"""A pattern: room for several names, but a subscriber repeats its patterns in every announcement."""

KEYS_MAX = 100
"""Keys that a board trusts."""

SKIPPED_MAX = 1000
"""Offsets of commands that a subscriber passes over."""

PAGE_MAX = 1000
"""Items on a page: it is one message between actors, of which each item may have some kB."""

CURSOR_CHARS_MAX = 1000
"""A cursor: two offsets, three digests and the name of a subscriber, in hexadecimal digits of UTF-8."""

OFFSET_MAX = (1 << 63) - 1
"""No log has a greater offset: messages and databases hold 63 bits."""

ANSWER_S = 30.0
"""The default timeout of a question to the board."""

TIMEOUT_S_MAX = 1e9
"""Thirty years stand for no limit; timers of an event loop can still hold them."""

RETRIES_MAX = 1_000_000
"""Days of retries even at the shortest back-off; for more, use -1, no limit."""

PARALLEL_MAX = 64
"""Packages downloaded at once: each may hold some MB of memory."""

OUTBOX_MAX = 100_000
"""Statuses pending in the ledger, which is written with each import."""

ANNOUNCE_S_MIN = 0.5
"""A shorter interval floods the log."""

CLAIM_S_MIN = 1.0
"""A claim must outlive the second by which a busy host may delay an announcement."""

CLAIM_S_MAX = 1800.0
"""Announcements are kept for more than twice as long, so the holder of a name is always known."""

HOUR_S = 3600.0
DAY_S = 86_400.0

DAYS_MAX = 36_500
"""A century: times that far back, in nanoseconds, still fit 64 bits."""

MB_MAX = 1e9
"""A petabyte: in bytes, it easily fits 64 bits."""

THROTTLE_S_MAX = 300.0
"""How long a request may be delayed: half of what a publisher waits for an answer."""
