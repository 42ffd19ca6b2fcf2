"""What drives a solid: actuators with their limits and channels; each kind is one file."""
