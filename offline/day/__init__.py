"""One day, from what was known when it began to the folder of its plan: all lower rooms put together."""
