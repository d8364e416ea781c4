"""What Python programs use: traces, platforms, runs, comparisons and plans as objects; its names are those of `dardis`.

Nothing here decides anything: what is asked is put as the command line puts it, so that both have the same answers and
the same words for mistakes.
"""
