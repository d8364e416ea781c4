"""Days in turn, each planned from what was known and lived as it really was: both halves together."""
