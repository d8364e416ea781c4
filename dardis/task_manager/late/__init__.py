"""Late binding: a job binds itself to nodes when it can start, in one agreed order, without a central queue."""
