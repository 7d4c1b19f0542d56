"""Refusals, and reading bytes."""
import re

from reference import P


class Refusal(Exception):
    """A failure: one of CODES, and a sentence."""

    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


CODES = {  # code: exit code
    "accepted": 0,
    "truncated": 1,  # the file ends early
    "trailing": 1,  # bytes or elements after the end
    "magic": 1,
    "version": 1,
    "record": 1,  # a record that is unknown, missing, doubled or out of order
    "malformed": 1,  # a field with a value that no writer gives it
    "non-canonical": 1,  # an element of p or more
    "scheme": 1,
    "unsupported-backend": 1,
    "profile": 1,
    "height": 1,  # not the commitment's, or the wrong class
    "wrong-root": 1,
    "wrong-rows": 1,  # the canonical digest of the rows is not the proof's
    "application": 1,  # another application, or parameters, than asked for
    "unsupported-tables": 1,  # a key with tables that are not known here
    "wrong-key": 1,  # the key's bytes do not have the digest that was asked for, or the key is not of this profile
    "refused": 1,  # an equation of the proof does not hold
    "usage": 2,
    "unreadable": 2,
    "bad-rows": 2,
    "key-missing": 3,
}


class Bytes:
    """Reads a file from its start. Missing bytes are `truncated`, bytes after the end `trailing`."""

    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Refusal("truncated", f"{self.what} ends after {len(self.data)} bytes; {n} more expected at byte {self.at}")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, n):
        return int.from_bytes(self.take(n), "little")

    def element(self):
        x = self.number(8)
        if x >= P:
            raise Refusal("non-canonical", f"{self.what}: {x} at byte {self.at - 8} is not below p")
        return x

    def elements(self, n):
        return [self.element() for _ in range(n)]

    def name(self):
        n = self.number(1)
        if not 1 <= n <= 32:
            raise Refusal("malformed", f"{self.what}: a name of {n} bytes (expected 1 to 32)")
        text = self.take(n)
        if not re.fullmatch(rb"[a-z0-9_-]+", text):
            raise Refusal("malformed", f"{self.what}: name {text!r} has other characters than a-z, 0-9, - and _")
        return text.decode()

    def rest(self):
        return self.take(len(self.data) - self.at)

    def end(self):
        if self.at != len(self.data):
            raise Refusal("trailing", f"{self.what}: {len(self.data) - self.at} bytes after the end")


MAX_FILE = 1 << 28


def read_file(path):
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise Refusal("unreadable", f"{path}: more than {MAX_FILE} bytes, the limit")
        return data
    except OSError as e:
        raise Refusal("unreadable", f"{path}: {e}") from None
