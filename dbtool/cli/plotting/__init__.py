"""What the command that draws figures does, a module for each kind of output."""
