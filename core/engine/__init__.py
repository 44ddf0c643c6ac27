"""One decode step: plan in integers, compute in tensors, commit."""
