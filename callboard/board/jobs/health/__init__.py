"""How jobs are doing: their workers, figures for Prometheus, and findings for ``callboard doctor``."""
