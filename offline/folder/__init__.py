"""The folder of `dardis plan`: writes and reads all its files."""
