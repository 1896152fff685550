"""Parses queries: `[where] [ORDER BY field [ASC|DESC], ...] [SHOW field, ...]`.

A condition is `field operator value`, `field IN (a, b)`, `field IS [NOT] EMPTY`, or a search
word. Conditions are combined with AND (the default), OR, NOT and parentheses; AND binds more
tightly than OR.
"""

from retinue.plugins.artifacts.query.syntax import (
    TEXT,
    And,
    Comparison,
    Condition,
    Emptiness,
    Not,
    Operator,
    Or,
    Order,
    Query,
    QueryError,
    Word,
    joined,
)

LONGEST = 4_000
"""Maximum length of a query in characters."""
_DEEPEST = 50
_MOST_CONDITIONS = 200
_OPERATORS: tuple[tuple[str, Operator], ...] = (
    ("!:", "!:"),
    ("!~", "!:"),
    ("!=", "!="),
    (">=", ">="),
    ("<=", "<="),
    (":", ":"),
    ("~", ":"),
    ("=", "="),
    (">", ">"),
    ("<", "<"),
)
_ALWAYS = {"AND", "OR", "NOT", "SHOW"}  # other keywords are plain words where they do not fit
_APART = '(),"'  # these end a word
_IN_OPERATORS = ":~=!<>"  # these end a name too
_FIELD = "a field or a search word"


def parse(text: str) -> Query:
    """Parse a query. Raises `QueryError`."""
    if len(text) > LONGEST:
        raise QueryError(f"the query is longer than {LONGEST} characters", position=LONGEST)
    return _Parser(text).query()


class _Parser:
    """A recursive descent parser."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._conditions = 0

    def query(self) -> Query:
        where = None if self._ends_here() else self._either()
        order: list[Order] = []
        show: list[Word] = []
        if self._take_keywords("ORDER", "BY"):
            order.append(self._order())
            while self._take(","):
                order.append(self._order())
        if self._take_keywords("SHOW"):
            show.append(self._name("a field to show"))
            while self._take(","):
                show.append(self._name("a field to show"))
        self._skip()
        if self._at < len(self._text):
            raise self._unexpected("ORDER BY, SHOW or the end" if where else "the end")
        return Query(where, tuple(order), tuple(show))

    # -- conditions

    def _either(self) -> Condition:
        parts = [self._together()]
        while self._take_keywords("OR"):
            parts.append(self._together())
        return joined(Or, parts)

    def _together(self) -> Condition:
        parts = [self._one()]
        while self._take_keywords("AND") or not self._ends_here():
            parts.append(self._one())
        return joined(And, parts)

    def _one(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise QueryError(f"nested more than {_DEEPEST} levels deep", position=self._at)
        try:
            if self._take_keywords("NOT"):
                return Not(self._one())
            if self._take("("):
                inner = self._either()
                if not self._take(")"):
                    raise self._unexpected('")"')
                return inner
            return self._condition()
        finally:
            self._depth -= 1

    def _condition(self) -> Condition:
        self._conditions += 1
        if self._conditions > _MOST_CONDITIONS:
            raise QueryError(f"more than {_MOST_CONDITIONS} conditions", position=self._at)
        name = self._name(_FIELD)
        self._skip()
        at = self._at
        for written, operator in _OPERATORS:
            if self._text.startswith(written, at):
                self._at += len(written)
                return Comparison(name, operator, (self._value(written),), at)
        if self._take_keywords("IS", "NOT", "EMPTY"):
            return Emptiness(name, is_empty=False)
        if self._take_keywords("IS", "EMPTY"):
            return Emptiness(name, is_empty=True)
        if self._is_in():
            return Comparison(name, "in", self._values(), at)
        return Comparison(Word(TEXT, name.at), ":", (name,), name.at)

    def _is_in(self) -> bool:
        start = self._at
        if self._take_keywords("IN") and self._take("("):
            return True
        self._at = start
        return False

    def _values(self) -> tuple[Word, ...]:
        values = [self._value("(")]
        while self._take(","):
            values.append(self._value(","))
        if not self._take(")"):
            raise self._unexpected('"," or ")"')
        return tuple(values)

    def _order(self) -> Order:
        name = self._name("a field to sort by")
        if self._take_keywords("DESC"):
            return Order(name, is_descending=True)
        self._take_keywords("ASC")
        return Order(name)

    # -- words

    def _name(self, expected: str) -> Word:
        self._skip()
        at = self._at
        word = self._quoted() or self._bare(_APART + _IN_OPERATORS)
        if word is None or self._is_reserved(word, at):
            self._at = at
            raise self._unexpected(expected)
        return Word(word.text, at)

    def _value(self, after: str) -> Word:
        self._skip()
        at = self._at
        word = self._quoted() or self._bare(_APART)
        if word is None or self._is_reserved(word, at):
            self._at = at
            raise self._unexpected(f'a value after "{after}"')
        return word

    def _is_reserved(self, word: Word, at: int) -> bool:
        """Whether an unquoted word is a keyword at this position."""
        if self._text[at] in "\"'":
            return False
        after, self._at = self._at, at
        is_order = self._take_keywords("ORDER", "BY")
        self._at = after
        return is_order or word.text.upper() in _ALWAYS

    def _bare(self, stops: str) -> Word | None:
        at = end = self._at
        while end < len(self._text) and not self._text[end].isspace():
            if self._text[end] in stops:
                break
            end += 1
        self._at = end
        return Word(self._text[at:end], at) if end > at else None

    def _quoted(self) -> Word | None:
        at = self._at
        quote = self._text[at : at + 1]
        if quote not in ('"', "'"):
            return None
        found: list[str] = []
        here = at + 1
        while here < len(self._text):
            letter = self._text[here]
            if letter == quote:
                self._at = here + 1
                return Word("".join(found), at)
            if letter == "\\" and here + 1 < len(self._text):
                here += 1
            found.append(self._text[here])
            here += 1
        raise QueryError(f"the quote {quote} is never closed", position=at, expected=quote)

    # -- position

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _take(self, sign: str) -> bool:
        self._skip()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _take_keywords(self, *keywords: str) -> bool:
        start = self._at
        for keyword in keywords:
            self._skip()
            word = self._bare(_APART + _IN_OPERATORS)
            if word is None or word.text.upper() != keyword:
                self._at = start
                return False
        return True

    def _ends_here(self) -> bool:
        """Whether no further condition follows."""
        self._skip()
        start = self._at
        if start >= len(self._text) or self._text[start] in "),":
            return True
        is_end = (
            self._take_keywords("OR")
            or self._take_keywords("ORDER", "BY")
            or self._take_keywords("SHOW")
        )
        self._at = start
        return is_end

    def _unexpected(self, expected: str) -> QueryError:
        self._skip()
        at = self._at
        if at >= len(self._text):
            return QueryError(f"expected {expected}, found the end", position=at, expected=expected)
        word = self._bare(_APART)
        found = word.text if word is not None else self._text[at]
        hint = " (to search for this word, put it in quotes)" if found.upper() in _ALWAYS else ""
        return QueryError(
            f'expected {expected}, found "{found[:40]}"{hint}', position=at, expected=expected
        )
