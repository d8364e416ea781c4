"""Plans a day's jobs for profit: the thesis's searches (chapter 6), the solver's own, and ours."""
