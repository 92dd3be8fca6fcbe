"""Where jobs are kept: the Store port, one SQL store, and a small dialect for each database."""
