"""Plans a day's jobs for profit: the thesis's rules and greedy searches (chapter 6), and from the best of them ours."""
