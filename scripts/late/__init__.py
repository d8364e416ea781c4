"""The kit behind scripts/reproduce/late: late binding beside best practice on traces, at several loads."""
