"""What planning starts from: machine and surroundings, the calendar, and the past of the machine as a schedule."""
