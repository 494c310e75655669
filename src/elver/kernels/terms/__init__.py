"""What acts: on frames, between two frames, and on coordinates; residual and tangent side by side."""
