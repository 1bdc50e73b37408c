"""Who is better: duplicate play (`match.py`), intervals (`stats.py`), ratings (`ratings.py`), tables (`report.py`)."""
