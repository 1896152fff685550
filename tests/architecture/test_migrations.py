from pathlib import Path

SCHEMA = Path(__file__).resolve().parents[2] / "src/retinue/stores/sqlite/schema"


def test_migrations_are_numbered_without_gaps_or_repeats() -> None:
    numbers = [int(file.name.partition("_")[0]) for file in sorted(SCHEMA.glob("*.sql"))]
    assert numbers == list(range(1, len(numbers) + 1))
