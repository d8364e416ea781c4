"""The thesis's section 6.8 beside ours: plans of whole traces, and the classification tree that days of them teach."""
