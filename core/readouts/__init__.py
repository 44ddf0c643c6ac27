"""What views draw: pure functions from a `RunView` to frozen values. No torch, no Qt."""
