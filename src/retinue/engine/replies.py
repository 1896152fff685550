"""The text with which a record answers a message."""

from retinue.messages import (
    AnyRecord,
    AssistantRecord,
    NoteRecord,
    RunRecord,
    SystemRecord,
    UserRecord,
)


def reply_text(record: AnyRecord | None) -> str:
    match record:
        case AssistantRecord():
            return record.text
        case NoteRecord() | RunRecord():
            return record.text
        case UserRecord() | SystemRecord():
            return ""  # a silent message: to be recorded was all it asked for
        case _:
            return ""
