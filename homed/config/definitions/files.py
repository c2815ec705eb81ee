"""Settings of attachments: what may be sent, what waits for a message, what of them the model is shown."""

from __future__ import annotations

from homed.config.definitions.shape import Definition

UPLOAD_BYTES = "core.files.max_bytes"
UPLOADS_OPEN = "core.files.open_uploads"
UPLOAD_IDLE = "core.files.upload_idle"
FILES_A_MESSAGE = "core.files.per_message"
WAITING_FILES = "core.files.waiting"
WAITING_BYTES = "core.files.waiting_bytes"
WAITING_ALL = "core.files.waiting_bytes_of_all"
SHOWN_IMAGES = "core.files.shown_images"
SHOWN_IMAGE_BYTES = "core.files.shown_image_bytes"
SHOWN_TEXTS = "core.files.shown_texts"
SHOWN_TEXT = "core.files.shown_text_chars"

_FILES = "Attachments"

FILES: tuple[Definition, ...] = (
    Definition(
        UPLOAD_BYTES, "int", 20_971_520, "Bytes of the largest file that may be sent.",
        "File size", _FILES, minimum=1000, maximum=20_971_520,
    ),
    Definition(
        UPLOADS_OPEN, "int", 10, "Files that one person may be sending at the same time.",
        "Sent at once", _FILES, minimum=1, maximum=50,
    ),
    Definition(
        UPLOAD_IDLE, "duration", 600, "Seconds after which a file that is sent no further is given up.",
        "Given up after", _FILES, minimum=10, maximum=86_400,
    ),
    Definition(
        FILES_A_MESSAGE, "int", 10, "Files that go with one message.",
        "Files a message", _FILES, minimum=0, maximum=50,
    ),
    Definition(
        WAITING_FILES, "int", 200, "Files of one person that may wait for a message; they are deleted after a day.",
        "Waiting files", _FILES, minimum=1, maximum=10_000,
    ),
    Definition(
        WAITING_BYTES, "int", 268_435_456, "Bytes of one person's files that may wait for a message.",
        "Waiting bytes", _FILES, minimum=1_000_000, maximum=10_737_418_240,
    ),
    Definition(
        WAITING_ALL, "int", 2_147_483_648, "Bytes of everybody's files that may wait for messages.",
        "Waiting bytes of all", _FILES, minimum=1_000_000, maximum=107_374_182_400,
    ),
    Definition(
        SHOWN_IMAGES, "int", 4, "Pictures that a model call shows, the newest; each takes some thousand tokens.",
        "Pictures shown", _FILES, minimum=0, maximum=20,
    ),
    Definition(
        SHOWN_IMAGE_BYTES, "int", 8_388_608, "Bytes of the largest picture that is shown to a model.",
        "Picture size", _FILES, minimum=10_000, maximum=20_971_520,
    ),
    Definition(
        SHOWN_TEXTS, "int", 4, "Text files that a model call shows at length, the newest; of others the beginning.",
        "Text files shown", _FILES, minimum=0, maximum=20,
    ),
    Definition(
        SHOWN_TEXT, "int", 16_000, "Characters of a text file that are shown; the model can ask for the rest.",
        "Text shown", _FILES, minimum=200, maximum=500_000,
    ),
)  # fmt: skip
