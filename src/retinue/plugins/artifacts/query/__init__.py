"""The query language over items and notes: reading, checking and answering it."""
