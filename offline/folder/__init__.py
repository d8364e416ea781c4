"""The folder that `dardis plan` makes: the one place that knows its files, to write them and to read them back."""
