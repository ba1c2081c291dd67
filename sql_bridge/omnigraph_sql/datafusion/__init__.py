"""The only code that knows DataFusion: sessions, functions, streams, errors."""
