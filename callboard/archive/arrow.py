"""Arrow, for all modules that read or write segments; what only describes an archive does without it."""

from callboard.errors import ExtraMissing

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ModuleNotFoundError as missing:
    raise ExtraMissing("an archive needs pyarrow; run: pip install 'callboard[archive]'") from missing

__all__ = ["pa", "pc", "pq"]
