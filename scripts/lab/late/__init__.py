"""The kit behind scripts/lab/run late: late binding beside best practice on traces, at several loads."""
