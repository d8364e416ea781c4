"""Planning with OR-Tools: model, polish and bounds."""
