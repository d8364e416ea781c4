"""Models of files and options; mistakes give one line."""
