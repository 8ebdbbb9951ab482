"""What a running controller tells its operator: lines on stderr, quiet unless asked.

Text lines for people, or one JSON object per line for collectors. Warnings and errors always;
`--verbose` adds what goes as planned. Nothing of users' work is written here.
"""

import json
import logging
import sys
import time


def said(record: logging.LogRecord) -> str:
    """The text of a line; of a failure its kind and its words, not its stack."""
    error = record.exc_info[1] if record.exc_info else None
    return f"{record.getMessage()}{f': {type(error).__name__}: {error}' if error else ''}"


class TextLines(logging.Formatter):
    """`23:05:10 warning: text`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        line = f"{clock} {record.levelname.lower()}: {said(record)}"
        if record.exc_info and record.levelno <= logging.INFO:
            # Only --verbose gets here: whoever asked for all wants the place, too.
            line += f"\n{self.formatException(record.exc_info)}"
        return line


class JsonLines(logging.Formatter):
    """One object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        told = {
            "at_us": int(record.created * 1_000_000),
            "level": record.levelname.lower(),
            "text": said(record),
        }
        return json.dumps(told)


def announce(text: str) -> None:
    """A line that is written however quiet the log is."""
    told = {"msg": text, "levelno": logging.INFO, "levelname": "INFO", "name": "xce"}
    for handler in logging.getLogger("xce").handlers:
        handler.handle(logging.makeLogRecord(told))


def set_up(style: str, *, verbose: bool) -> None:
    """Log to stderr in that style."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if style == "json" else TextLines())
    for name, level in (("xce", logging.WARNING), ("uvicorn", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO if verbose and name == "xce" else level)
        logger.propagate = False
