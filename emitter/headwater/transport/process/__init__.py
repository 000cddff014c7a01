"""The transport in the life of its process: forks, the exit of the interpreter, and SIGTERM."""
