"""AUCSCHED (001): jobs bid for nodes, and an integer programme selects the winners."""
