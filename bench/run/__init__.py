"""One run: on disk, as frames, and how runs are found and asked."""
