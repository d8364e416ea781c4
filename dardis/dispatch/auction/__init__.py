"""AUCSCHED (001): jobs bid for sets of nodes, and an integer programme says which bids win."""
