"""Plans a day's jobs for profit: the thesis's rules and greedy searches (chapter 6), then our search."""
