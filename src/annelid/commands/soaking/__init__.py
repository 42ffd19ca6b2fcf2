"""What `annelid soak` is made of: a simulation, threads that edit it, a page, acts, and checks of what is left."""
