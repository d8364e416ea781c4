"""Plans a day's jobs for profit: rules and greedy searches of the thesis (chapter 6), and our search."""
