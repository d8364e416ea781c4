"""What online is told to aim at: thesis algorithm 8, and trees learned from past days."""
