"""How long a job will run, by what is known when somebody asks."""
